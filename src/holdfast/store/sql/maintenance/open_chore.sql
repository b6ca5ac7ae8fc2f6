-- The job of a chore that waits or runs, one that waits for a quiet hour last; the queue is short.
SELECT id, wait_for_idle FROM jobs
WHERE state = 'QUEUED' AND queue = :queue AND job_type = :task
UNION ALL
SELECT id, wait_for_idle FROM jobs
WHERE state IN ('SCHEDULED', 'RUNNING') AND state <> 'QUEUED' AND queue = :queue AND job_type = :task
ORDER BY wait_for_idle LIMIT 1
