-- What a job was about that never ran is what the one in its place is about, too.
INSERT INTO changed_files (job_id, path, change) VALUES (:job_id, :path, :change)
