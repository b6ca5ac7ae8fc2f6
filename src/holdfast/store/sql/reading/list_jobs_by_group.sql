-- The same for one group, by its index.
SELECT number FROM jobs
WHERE group_id = :group_id AND number < :below AND @part(job_filters)
ORDER BY number DESC LIMIT :limit
