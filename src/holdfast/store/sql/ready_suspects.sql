-- Jobs that wait to run with nothing beside them, longest wait first; usually none.
SELECT number, queue, job_type, queued_at FROM jobs
WHERE state = 'QUEUED' AND is_suspect = 1 ORDER BY queued_at, number LIMIT :limit
