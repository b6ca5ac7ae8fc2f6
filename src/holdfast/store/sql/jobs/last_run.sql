SELECT params_snapshot FROM job_runs WHERE job_id = :job_id ORDER BY attempt DESC LIMIT 1
