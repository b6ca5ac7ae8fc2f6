-- Every queue with ready jobs that take tokens, found among those that wait for the machine.
WITH RECURSIVE ready (queue) AS (
  SELECT min(queue) FROM jobs WHERE state = 'QUEUED' AND (lane & 31) > 0
  UNION ALL
  SELECT (SELECT min(queue) FROM jobs WHERE state = 'QUEUED' AND (lane & 31) > 0 AND jobs.queue > ready.queue)
  FROM ready WHERE ready.queue IS NOT NULL
)
SELECT queue FROM ready WHERE EXISTS (
  SELECT 1 FROM jobs WHERE state = 'QUEUED' AND jobs.queue = ready.queue AND (lane & 31) > 0 AND (lane & 31) > 3)
