UPDATE jobs SET progress = :fraction, progress_text = :text
WHERE id = :job_id AND run_id = :run_id AND session_id = :session_id AND state = 'RUNNING'
