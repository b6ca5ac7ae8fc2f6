SELECT run_id, stop_reason FROM jobs WHERE state = 'RUNNING' AND stop_reason IS NOT NULL AND session_id = :session_id
UNION ALL
SELECT id, 'yield' FROM job_runs WHERE status IS NULL AND yield_asked_at IS NOT NULL AND session_id = :session_id
ORDER BY run_id
