SELECT app_key, instance_index, job_name, asked FROM scheduled_jobs
WHERE asked IS NOT NULL AND app_key @in(:app_keys)
