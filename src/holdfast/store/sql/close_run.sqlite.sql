UPDATE job_runs
SET status = :status, finished_at = :now, duration_ms = :duration_ms, exit_code = :exit_code,
    error_kind = :error_kind, error_code = :error_code, error = :error, traceback = :traceback,
    artifacts = :artifacts, log_path = coalesce(:log_path, log_path)
WHERE id = :run_id AND status IS NULL
