-- The same for one schedule, by its index.
SELECT number FROM jobs
WHERE schedule_id = :schedule_id AND schedule_id IS NOT NULL AND number < :below AND @part(job_filters)
ORDER BY number DESC LIMIT :limit
