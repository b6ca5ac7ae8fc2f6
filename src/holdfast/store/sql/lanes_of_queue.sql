-- The lanes of a queue that have ready jobs, beside the plain one: one step of the index for each.
WITH RECURSIVE lanes (lane) AS (
  SELECT min(lane) FROM jobs WHERE state = 'QUEUED' AND queue = :queue AND lane > 0
  UNION ALL
  SELECT (
    SELECT min(gated.lane) FROM jobs AS gated
    WHERE gated.state = 'QUEUED' AND gated.queue = :queue AND gated.lane > lanes.lane)
  FROM lanes WHERE lanes.lane IS NOT NULL
)
SELECT lane FROM lanes WHERE lane IS NOT NULL
