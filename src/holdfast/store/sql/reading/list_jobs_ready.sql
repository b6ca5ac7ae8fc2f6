-- The same for the ready jobs of one queue.
SELECT number FROM jobs
WHERE state = 'QUEUED' AND queue = :queue AND number < :below AND @part(job_filters)
ORDER BY number DESC LIMIT :limit
