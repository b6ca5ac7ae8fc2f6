SELECT * FROM job_runs WHERE id = :id
