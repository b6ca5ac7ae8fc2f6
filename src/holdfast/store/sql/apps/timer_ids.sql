SELECT id, job_name AS name FROM scheduled_jobs
WHERE app_key = :app_key AND instance_index = :instance_index AND job_name @in(:names)
