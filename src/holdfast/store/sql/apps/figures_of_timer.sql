SELECT status, count(*) AS calls, sum(duration_ms) AS total_ms, max(duration_ms) AS longest_ms
FROM job_executions WHERE job_id = :id AND started_at >= :since GROUP BY status
