UPDATE jobs
SET state = 'RUNNING', started_at = :now, session_id = :session_id, worker_id = :worker_id, run_id = :run_id,
    attempts = attempts + 1, reason = NULL, tokens_since = NULL, log_path = NULL
WHERE number = :number AND state = 'QUEUED'
