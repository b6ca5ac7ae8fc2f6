-- Whoever closes it first deals with it.
UPDATE dead_letters
SET closed_at = :now, closed_as = :closed_as, closed_by = :closed_by, reason = :reason, retried_as = :retried_as
WHERE job_id = :job_id AND closed_at IS NULL
