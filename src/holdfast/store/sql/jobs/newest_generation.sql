SELECT generation FROM subjects WHERE job_type = :job_type AND subject_key = :subject_key
