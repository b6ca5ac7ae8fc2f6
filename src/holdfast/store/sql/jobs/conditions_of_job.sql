SELECT key, value, satisfied_at FROM job_conditions WHERE job_id = :job_id ORDER BY key
