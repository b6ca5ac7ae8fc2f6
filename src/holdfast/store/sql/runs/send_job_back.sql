-- A running job waits again: until a moment (SCHEDULED), or at once in its old place (QUEUED).
UPDATE jobs
SET state = r.state, scheduled_at = r.until, queued_at = CASE WHEN r.state = 'QUEUED' THEN r.now ELSE queued_at END,
    run_id = NULL, session_id = NULL, worker_id = NULL, stop_reason = NULL, cancel_requested_at = NULL,
    is_suspect = r.is_suspect, transient_tries = r.transient_tries, infra_tries = r.infra_tries, deaths = r.deaths,
    reason = r.reason, progress = NULL, progress_text = NULL,
    log_path = coalesce(r.log_path, jobs.log_path), artifact_path = coalesce(r.artifact_path, jobs.artifact_path)
@rows(r: job_id TEXT, run_id TEXT, state TEXT, until BIGINT, now BIGINT, is_suspect BIGINT, transient_tries BIGINT,
  infra_tries BIGINT, deaths BIGINT, reason TEXT, log_path TEXT, artifact_path TEXT)
WHERE jobs.id = r.job_id AND jobs.run_id = r.run_id AND jobs.state = 'RUNNING'
