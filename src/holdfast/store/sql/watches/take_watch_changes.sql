-- What a watch kept becomes what its job is about.
INSERT INTO changed_files (job_id, path, change)
SELECT :job_id, path, change FROM watch_changes WHERE watch_id = :watch_id
