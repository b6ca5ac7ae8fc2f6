SELECT * FROM job_runs WHERE job_id = :job_id ORDER BY attempt
