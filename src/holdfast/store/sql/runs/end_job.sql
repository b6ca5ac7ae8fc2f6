UPDATE jobs
SET state = r.state, finished_at = r.now, run_id = NULL, session_id = NULL, worker_id = NULL, stop_reason = NULL,
    is_suspect = 0, transient_tries = r.transient_tries, infra_tries = r.infra_tries, deaths = r.deaths,
    error_code = r.error_code, reason = r.reason, result_summary = r.result,
    log_path = coalesce(r.log_path, jobs.log_path), artifact_path = coalesce(r.artifact_path, jobs.artifact_path)
@rows(r: job_id TEXT, run_id TEXT, state TEXT, now BIGINT, transient_tries BIGINT, infra_tries BIGINT, deaths BIGINT,
  error_code TEXT, reason TEXT, result TEXT, log_path TEXT, artifact_path TEXT)
WHERE jobs.id = r.job_id AND jobs.run_id = r.run_id AND jobs.state = 'RUNNING'
