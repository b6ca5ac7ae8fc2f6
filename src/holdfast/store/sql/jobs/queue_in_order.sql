-- All that waits at one priority of a tenant in a queue, ready or not, and what runs, which may come back to its old place.
WITH RECURSIVE @part(lanes)
SELECT number FROM (
  SELECT number, position, created_at, id FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND lane IN (SELECT lane FROM lanes) AND tenant = :tenant AND priority = :priority
  UNION ALL
  SELECT number, position, created_at, id FROM jobs
  WHERE state = 'SCHEDULED' AND state <> 'QUEUED' AND queue = :queue AND tenant = :tenant AND priority = :priority
  UNION ALL
  SELECT number, position, created_at, id FROM jobs
  WHERE state = 'RUNNING' AND state <> 'QUEUED' AND queue = :queue AND tenant = :tenant AND priority = :priority
) AS waiting
ORDER BY position, created_at, id
