-- What an open run of a task runs with, and which try it is.
SELECT r.params_snapshot, r.attempt FROM job_runs AS r JOIN jobs AS j ON j.id = r.job_id AND j.run_id = r.id
WHERE r.id = :run_id AND r.status IS NULL AND j.job_type = :task AND j.queue = :queue
