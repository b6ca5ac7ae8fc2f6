-- The jobs of one fingerprint, newest first.
SELECT number FROM dead_letters
WHERE fingerprint = :fingerprint AND closed_at IS NULL AND number < :below
ORDER BY number DESC LIMIT :limit
