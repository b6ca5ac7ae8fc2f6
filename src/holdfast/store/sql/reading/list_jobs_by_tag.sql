-- The same for one tag, by its index.
SELECT number FROM jobs
WHERE user_tag = :tag AND number < :below AND @part(job_filters)
ORDER BY number DESC LIMIT :limit
