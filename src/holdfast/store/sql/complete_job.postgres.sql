UPDATE jobs
SET state = 'DONE', finished_at = r.now, run_id = NULL, session_id = NULL, worker_id = NULL, stop_reason = NULL,
    is_suspect = 0, result_summary = r.result
FROM (
  SELECT * FROM json_to_recordset(CAST(:rows AS json)) AS given (
    job_id TEXT, run_id TEXT, result TEXT, now BIGINT, secret_hash TEXT)
  -- Hidden from the planner, so that it keeps the plan: decision 052.
  LIMIT (SELECT CAST(:count AS BIGINT))) AS r
WHERE jobs.id = r.job_id AND jobs.run_id = r.run_id AND jobs.state = 'RUNNING'
  AND EXISTS (
    SELECT 1 FROM sessions AS s WHERE s.id = jobs.session_id AND s.secret_hash IS NOT DISTINCT FROM r.secret_hash)
RETURNING r.run_id, jobs.queue, jobs.trace_id
