-- The lanes of a queue that have ready jobs, beside the plain one: one step of their index for each.
WITH RECURSIVE lanes (lane) AS (
  SELECT min(lane) FROM jobs WHERE state = 'QUEUED' AND lane > 0 AND queue = :queue
  UNION ALL
  SELECT (SELECT min(lane) FROM jobs WHERE state = 'QUEUED' AND lane > 0 AND queue = :queue AND jobs.lane > lanes.lane)
  FROM lanes WHERE lanes.lane IS NOT NULL
)
SELECT lane FROM lanes WHERE lane IS NOT NULL
