-- The job that waits about a subject: there is at most one.
SELECT id, queue FROM jobs
WHERE job_type = :job_type AND subject_key = :subject_key AND state IN ('SCHEDULED', 'QUEUED')
