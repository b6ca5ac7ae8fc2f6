SELECT id, state, generation FROM jobs
WHERE job_type = :job_type AND subject_key = :subject_key AND generation = :generation AND retry_of IS NULL
ORDER BY number DESC LIMIT 1
