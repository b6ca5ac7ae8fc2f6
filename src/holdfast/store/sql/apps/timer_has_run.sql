UPDATE scheduled_jobs SET last_run_at = :last_run_at WHERE id = :id
