SELECT key, value FROM job_conditions WHERE job_id = :job_id AND satisfied_at IS NULL ORDER BY key
