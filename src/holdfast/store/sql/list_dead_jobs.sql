-- The jobs of one fingerprint, newest first.
SELECT jobs.* FROM dead_letters
JOIN jobs ON jobs.id = dead_letters.job_id
WHERE dead_letters.fingerprint = :fingerprint AND dead_letters.closed_at IS NULL AND dead_letters.number < :below
ORDER BY dead_letters.number DESC LIMIT :limit
