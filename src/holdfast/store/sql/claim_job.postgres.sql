-- By number alone: while the statistics know of few ready jobs, the planner would walk through all of them.
UPDATE jobs
SET state = 'RUNNING', started_at = c.now, session_id = c.session_id, worker_id = c.worker_id, run_id = c.run_id,
    attempts = attempts + 1, reason = NULL, tokens_since = NULL
FROM (
  SELECT * FROM json_to_recordset(CAST(:rows AS json)) AS given (
    number BIGINT, now BIGINT, session_id TEXT, worker_id TEXT, run_id TEXT)
  LIMIT (SELECT CAST(:count AS BIGINT))) AS c
WHERE jobs.number = c.number AND jobs.state || '' = 'QUEUED'
