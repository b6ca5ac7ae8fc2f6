-- A running job waits again: until a moment (SCHEDULED), or at once in its old place (QUEUED).
UPDATE jobs
SET state = r.state, scheduled_at = r.until, queued_at = CASE WHEN r.state = 'QUEUED' THEN r.now ELSE queued_at END,
    run_id = NULL, session_id = NULL, worker_id = NULL, stop_reason = NULL, cancel_requested_at = NULL,
    is_suspect = r.is_suspect, transient_tries = r.transient_tries, infra_tries = r.infra_tries, deaths = r.deaths,
    reason = r.reason, progress = NULL, progress_text = NULL
FROM (
  SELECT * FROM json_to_recordset(CAST(:rows AS json)) AS given (
    job_id TEXT, run_id TEXT, state TEXT, until BIGINT, now BIGINT, is_suspect BIGINT, transient_tries BIGINT,
    infra_tries BIGINT, deaths BIGINT, reason TEXT)
  -- Hidden from the planner, so that it keeps the plan: decision 052.
  LIMIT (SELECT CAST(:count AS BIGINT))) AS r
WHERE jobs.id = r.job_id AND jobs.run_id = r.run_id AND jobs.state = 'RUNNING'
