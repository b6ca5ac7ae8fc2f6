UPDATE jobs SET log_path = :log_path
WHERE id = (SELECT job_id FROM job_runs WHERE id = :run_id)
  AND run_id = :run_id AND session_id = :session_id AND state = 'RUNNING'
