-- The place of the ready job ahead of another one, over all lanes. Two jobs may share a place, so the whole order counts.
WITH RECURSIVE lanes (lane) AS (
  SELECT CAST(0 AS BIGINT)
  UNION ALL
  SELECT (
    SELECT min(gated.lane) FROM jobs AS gated
    WHERE gated.state = 'QUEUED' AND gated.queue = :queue AND gated.lane > lanes.lane)
  FROM lanes WHERE lanes.lane IS NOT NULL
)
SELECT max((
  SELECT position FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND jobs.lane = lanes.lane AND tenant = :tenant AND priority = :priority
    AND (position, created_at, id) < (:position, :created_at, :id)
  ORDER BY position DESC, created_at DESC, id DESC LIMIT 1))
FROM lanes
