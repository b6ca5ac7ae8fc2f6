UPDATE jobs SET checkpoint = :data WHERE id = :job_id AND run_id = :run_id AND state = 'RUNNING'
