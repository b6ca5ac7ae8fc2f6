-- The first place of a tenant in a queue at one priority, over all lanes.
WITH RECURSIVE lanes (lane) AS (
  SELECT CAST(0 AS BIGINT)
  UNION ALL
  SELECT (
    SELECT min(gated.lane) FROM jobs AS gated
    WHERE gated.state = 'QUEUED' AND gated.queue = :queue AND gated.lane > lanes.lane)
  FROM lanes WHERE lanes.lane IS NOT NULL
)
SELECT min((
  SELECT min(position) FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND jobs.lane = lanes.lane AND tenant = :tenant AND priority = :priority))
FROM lanes
