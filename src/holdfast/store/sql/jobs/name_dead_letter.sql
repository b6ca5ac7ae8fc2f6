UPDATE dead_letters SET fingerprint = :fingerprint WHERE job_id = :job_id
