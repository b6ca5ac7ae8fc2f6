-- Every queue with ready jobs that wait for the machine: one step of their index for each. The last is NULL.
ready (queue) AS (
  SELECT min(queue) FROM jobs WHERE state = 'QUEUED' AND (lane & 31) > 0
  UNION ALL
  SELECT (SELECT min(queue) FROM jobs WHERE state = 'QUEUED' AND (lane & 31) > 0 AND jobs.queue > ready.queue)
  FROM ready WHERE ready.queue IS NOT NULL
)
