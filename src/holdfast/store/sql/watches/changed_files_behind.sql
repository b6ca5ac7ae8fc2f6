-- A page of what a job is about.
SELECT path, change FROM changed_files WHERE job_id = :job_id AND path > :after ORDER BY path LIMIT :limit
