-- Newest first, below the cursor.
SELECT number FROM jobs WHERE number < :below AND @part(job_filters) ORDER BY number DESC LIMIT :limit
