INSERT INTO changed_file_lists (job_id, root, total, truncated) VALUES (:job_id, :root, :total, :truncated)
