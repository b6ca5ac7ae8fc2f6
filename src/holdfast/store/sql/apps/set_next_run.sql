UPDATE scheduled_jobs SET next_run_at = :next_run_at
WHERE app_key = :app_key AND instance_index = :instance_index AND job_name = :job_name AND retired_at IS NULL
