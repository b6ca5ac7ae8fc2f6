-- By number alone: while the statistics know of few ready jobs, the planner would walk through all of them. And by a list
-- of numbers: in a plan for a small table, which is kept when it grows, it would walk through that to join it.
WITH c AS (
  SELECT * FROM json_to_recordset(CAST(:rows AS json)) AS given (
    number BIGINT, now BIGINT, session_id TEXT, worker_id TEXT, run_id TEXT)
)
UPDATE jobs
SET state = 'RUNNING', started_at = c.now, session_id = c.session_id, worker_id = c.worker_id, run_id = c.run_id,
    attempts = attempts + 1, reason = NULL, tokens_since = NULL, log_path = NULL
FROM c
WHERE jobs.number = c.number AND jobs.number = ANY (ARRAY(SELECT number FROM c)) AND jobs.state || '' = 'QUEUED'
