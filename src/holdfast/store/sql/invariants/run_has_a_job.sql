SELECT r.id, r.job_id FROM job_runs AS r WHERE NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = r.job_id)
