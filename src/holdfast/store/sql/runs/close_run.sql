UPDATE job_runs
SET status = r.status, finished_at = r.now, duration_ms = r.duration_ms, exit_code = r.exit_code,
    error_kind = r.error_kind, error_code = r.error_code, error = r.error, traceback = r.traceback,
    artifacts = r.artifacts, log_path = coalesce(r.log_path, job_runs.log_path)
@rows(r: run_id TEXT, status TEXT, now BIGINT, duration_ms BIGINT, exit_code BIGINT, error_kind TEXT, error_code TEXT,
  error TEXT, traceback TEXT, artifacts TEXT, log_path TEXT)
WHERE job_runs.id = r.run_id AND job_runs.status IS NULL
