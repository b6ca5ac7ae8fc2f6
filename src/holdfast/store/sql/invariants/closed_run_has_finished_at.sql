SELECT id, status, finished_at FROM job_runs WHERE (status IS NULL) <> (finished_at IS NULL)
