SELECT run_id, stop_reason FROM jobs WHERE state = 'RUNNING' AND stop_reason IS NOT NULL AND session_id = :session_id
ORDER BY number
