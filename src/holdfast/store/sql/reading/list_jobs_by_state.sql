-- The same for one state of one queue, where history is long and the state is rare.
SELECT number FROM jobs
WHERE state = :state AND state <> 'QUEUED' AND queue = :queue AND number < :below AND @part(job_filters)
ORDER BY number DESC LIMIT :limit
