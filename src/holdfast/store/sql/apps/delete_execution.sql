DELETE FROM job_executions WHERE id = :id
