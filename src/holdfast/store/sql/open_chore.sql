-- The job of a chore that waits or runs; the queue is short.
SELECT id FROM jobs
WHERE state = 'QUEUED' AND queue = :queue AND job_type = :task
UNION ALL
SELECT id FROM jobs
WHERE state IN ('SCHEDULED', 'RUNNING') AND state <> 'QUEUED' AND queue = :queue AND job_type = :task
LIMIT 1
