-- Also if nobody ran when they became ready.
UPDATE jobs SET state = 'QUEUED', reason = NULL, queued_at = @part(ready_from)
WHERE number IN (
  SELECT number FROM jobs
  WHERE state = 'SCHEDULED' AND open_conditions = 0 AND scheduled_at IS NOT NULL AND scheduled_at <= :now
  ORDER BY scheduled_at, number LIMIT :limit)
RETURNING queue
