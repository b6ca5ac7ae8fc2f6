-- A tenant that has no ready job left waits for no turn.
WITH RECURSIVE lanes (lane) AS (
  SELECT CAST(0 AS BIGINT)
  UNION ALL
  SELECT (
    SELECT min(gated.lane) FROM jobs AS gated
    WHERE gated.state = 'QUEUED' AND gated.queue = :queue AND gated.lane > lanes.lane)
  FROM lanes WHERE lanes.lane IS NOT NULL
)
UPDATE tenants SET is_waiting = 0
WHERE queue = :queue AND tenant = :tenant AND NOT EXISTS (
  SELECT 1 FROM lanes
  WHERE EXISTS (
    SELECT 1 FROM jobs
    WHERE state = 'QUEUED' AND jobs.queue = :queue AND jobs.lane = lanes.lane AND jobs.tenant = :tenant))
