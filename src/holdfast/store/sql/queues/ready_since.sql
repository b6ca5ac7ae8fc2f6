-- Since when the next job of a tenant in a lane of a queue has been ready, over all its priorities: one step of the index
-- for each of them.
WITH RECURSIVE level (priority) AS (
  SELECT max(priority) FROM jobs WHERE state = 'QUEUED' AND queue = :queue AND lane = :lane AND tenant = :tenant
  UNION ALL
  SELECT (
    SELECT max(priority) FROM jobs
    WHERE state = 'QUEUED' AND queue = :queue AND lane = :lane AND tenant = :tenant AND jobs.priority < level.priority)
  FROM level WHERE level.priority IS NOT NULL
)
SELECT min(
  (SELECT queued_at FROM jobs WHERE state = 'QUEUED' AND queue = :queue AND lane = :lane AND tenant = :tenant AND jobs.priority = level.priority
   ORDER BY position, created_at, id LIMIT 1))
FROM level WHERE level.priority IS NOT NULL
