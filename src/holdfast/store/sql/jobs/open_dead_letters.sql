-- The jobs of one fingerprint that nobody has dealt with, by their numbers, in the order of their enqueue.
SELECT number FROM dead_letters
WHERE fingerprint = :fingerprint AND closed_at IS NULL AND number <= :upto ORDER BY number LIMIT :limit
