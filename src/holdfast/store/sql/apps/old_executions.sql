SELECT id FROM job_executions WHERE started_at < :before ORDER BY started_at LIMIT :limit
