-- Jobs of a task of the system's own that have ended, oldest first.
SELECT id FROM jobs
WHERE state = :state AND state <> 'QUEUED' AND queue = :queue AND job_type = :task AND finished_at < :before
ORDER BY number LIMIT :limit
