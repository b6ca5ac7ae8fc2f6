-- Since when the next job of a queue has been ready, over all its priorities: one step of the index for each of them.
WITH RECURSIVE lane (priority) AS (
  SELECT max(priority) FROM jobs WHERE state = 'QUEUED' AND queue = :queue
  UNION ALL
  SELECT (SELECT max(priority) FROM jobs WHERE state = 'QUEUED' AND queue = :queue AND jobs.priority < lane.priority)
  FROM lane WHERE lane.priority IS NOT NULL
)
SELECT min(
  (SELECT queued_at FROM jobs WHERE state = 'QUEUED' AND queue = :queue AND jobs.priority = lane.priority
   ORDER BY position, created_at, id LIMIT 1))
FROM lane WHERE lane.priority IS NOT NULL
