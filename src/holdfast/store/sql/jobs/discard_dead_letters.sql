UPDATE dead_letters
SET closed_at = :now, closed_as = 'discarded', closed_by = :closed_by, reason = :reason
WHERE closed_at IS NULL AND job_id IN (
  SELECT job_id FROM dead_letters
  WHERE fingerprint = :fingerprint AND closed_at IS NULL AND number <= :upto ORDER BY number LIMIT :limit)
