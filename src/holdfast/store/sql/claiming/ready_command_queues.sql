-- Every queue that has ready commands: one step of their index for each queue.
WITH RECURSIVE ready (queue) AS (
  SELECT min(queue) FROM jobs WHERE state = 'QUEUED' AND job_type = 'command'
  UNION ALL
  SELECT (SELECT min(queue) FROM jobs WHERE state = 'QUEUED' AND job_type = 'command' AND jobs.queue > ready.queue)
  FROM ready WHERE ready.queue IS NOT NULL
)
SELECT queue FROM ready WHERE queue IS NOT NULL
