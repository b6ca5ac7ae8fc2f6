SELECT * FROM dead_letters WHERE job_id = :job_id
