SELECT id, state, generation, number FROM jobs
WHERE job_type = :job_type AND idempotency_key = :idempotency_key AND retry_of IS NULL
