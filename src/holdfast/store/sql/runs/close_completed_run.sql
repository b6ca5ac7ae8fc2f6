UPDATE job_runs
SET status = 'COMPLETED', finished_at = r.now, duration_ms = r.duration_ms, exit_code = r.exit_code,
    artifacts = r.artifacts, log_path = coalesce(r.log_path, job_runs.log_path)
@rows(r: run_id TEXT, job_id TEXT, duration_ms BIGINT, exit_code BIGINT, now BIGINT, artifacts TEXT, log_path TEXT)
WHERE job_runs.id = r.run_id AND job_runs.job_id = r.job_id AND job_runs.status IS NULL
