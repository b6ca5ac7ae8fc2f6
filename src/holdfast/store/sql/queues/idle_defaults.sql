-- Where the default tenant is said to wait only because others came: it has no ready job there, and never started one.
SELECT t.queue, t.weight, t.active_until FROM tenants AS t
WHERE t.tenant = 'default' AND t.is_waiting = 1 AND t.starts = 0 AND t.queue <> ''
  AND (CAST(:queue AS TEXT) IS NULL OR t.queue = :queue)
  AND NOT EXISTS (
    WITH RECURSIVE lanes (lane) AS (
      SELECT CAST(0 AS BIGINT)
      UNION ALL
      SELECT (
        SELECT min(gated.lane) FROM jobs AS gated
        WHERE gated.state = 'QUEUED' AND gated.queue = t.queue AND gated.lane > lanes.lane)
      FROM lanes WHERE lanes.lane IS NOT NULL
    )
    SELECT 1 FROM lanes
    WHERE EXISTS (
      SELECT 1 FROM jobs AS ready
      WHERE ready.state = 'QUEUED' AND ready.queue = t.queue AND ready.lane = lanes.lane AND ready.tenant = 'default'))
