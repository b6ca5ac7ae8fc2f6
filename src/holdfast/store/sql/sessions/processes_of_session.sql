-- The processes that a session started for runs which are still open.
SELECT r.id AS run_id, r.pid, r.pid_started_at AS started_at
FROM jobs AS j JOIN job_runs AS r ON r.id = j.run_id
WHERE j.state = 'RUNNING' AND j.session_id = :session_id AND r.status IS NULL AND r.pid IS NOT NULL
  AND r.pid_started_at IS NOT NULL
