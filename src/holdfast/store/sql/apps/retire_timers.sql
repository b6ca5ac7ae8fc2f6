UPDATE scheduled_jobs SET retired_at = :now, next_run_at = NULL, asked = NULL
WHERE app_key = :app_key AND instance_index = :instance_index AND retired_at IS NULL AND job_name @in(:names)
