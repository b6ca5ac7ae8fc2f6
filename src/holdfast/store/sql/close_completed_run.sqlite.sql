UPDATE job_runs
SET status = 'COMPLETED', finished_at = :now, duration_ms = :duration_ms, exit_code = :exit_code,
    artifacts = :artifacts, log_path = coalesce(:log_path, log_path)
WHERE id = :run_id AND job_id = :job_id AND status IS NULL
