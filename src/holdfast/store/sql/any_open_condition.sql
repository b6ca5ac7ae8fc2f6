SELECT 1 FROM job_conditions WHERE satisfied_at IS NULL LIMIT 1
