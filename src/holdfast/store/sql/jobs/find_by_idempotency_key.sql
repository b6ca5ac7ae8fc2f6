SELECT id, state, generation, number, queue FROM jobs
WHERE job_type = :job_type AND idempotency_key = :idempotency_key AND retry_of IS NULL
