-- Those of one fingerprint that nobody has dealt with, in the order in which their jobs were enqueued.
SELECT job_id FROM dead_letters
WHERE fingerprint = :fingerprint AND closed_at IS NULL AND number <= :upto ORDER BY number LIMIT :limit
