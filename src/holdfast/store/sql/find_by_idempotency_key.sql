SELECT id, state, generation FROM jobs
WHERE job_type = :job_type AND idempotency_key = :idempotency_key AND retry_of IS NULL
