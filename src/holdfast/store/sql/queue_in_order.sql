-- All that waits at one priority of a tenant in a queue, ready or not, and what runs, which may come back to its old place.
WITH RECURSIVE lanes (lane) AS (
  SELECT CAST(0 AS BIGINT)
  UNION ALL
  SELECT (
    SELECT min(gated.lane) FROM jobs AS gated
    WHERE gated.state = 'QUEUED' AND gated.queue = :queue AND gated.lane > lanes.lane)
  FROM lanes WHERE lanes.lane IS NOT NULL
)
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
