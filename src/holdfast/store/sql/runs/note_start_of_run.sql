UPDATE job_runs SET pid = :pid, pid_started_at = :pid_started_at, log_path = :log_path
WHERE id = :run_id AND session_id = :session_id AND status IS NULL
