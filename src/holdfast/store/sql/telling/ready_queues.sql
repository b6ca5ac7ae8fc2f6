-- Every queue that has ready jobs: one step of the index for each queue, not for each job.
WITH RECURSIVE ready (queue) AS (
  SELECT min(queue) FROM jobs WHERE state = 'QUEUED'
  UNION ALL
  SELECT (SELECT min(queue) FROM jobs WHERE state = 'QUEUED' AND jobs.queue > ready.queue)
  FROM ready WHERE ready.queue IS NOT NULL
)
SELECT queue FROM ready WHERE queue IS NOT NULL
