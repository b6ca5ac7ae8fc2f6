SELECT root, total, truncated FROM changed_file_lists WHERE job_id = :job_id
