SELECT started_at FROM handler_invocations WHERE id = :id
UNION ALL SELECT started_at FROM job_executions WHERE id = :id
