-- The place of the ready job behind another one, over all lanes. Two jobs may share a place, so the whole order counts.
WITH RECURSIVE lanes (lane) AS (
  SELECT CAST(0 AS BIGINT)
  UNION ALL
  SELECT (
    SELECT min(gated.lane) FROM jobs AS gated
    WHERE gated.state = 'QUEUED' AND gated.queue = :queue AND gated.lane > lanes.lane)
  FROM lanes WHERE lanes.lane IS NOT NULL
)
SELECT min((
  SELECT position FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND jobs.lane = lanes.lane AND tenant = :tenant AND priority = :priority
    AND (position, created_at, id) > (:position, :created_at, :id)
  ORDER BY position, created_at, id LIMIT 1))
FROM lanes
