UPDATE jobs SET progress = :fraction, progress_text = :text WHERE id = :job_id AND run_id = :run_id AND state = 'RUNNING'
