-- A tenant that has ready jobs already waits for a turn from now on, like all others of the queue that have a row.
WITH RECURSIVE lanes (lane) AS (
  SELECT CAST(0 AS BIGINT)
  UNION ALL
  SELECT (
    SELECT min(gated.lane) FROM jobs AS gated
    WHERE gated.state = 'QUEUED' AND gated.queue = :queue AND gated.lane > lanes.lane)
  FROM lanes WHERE lanes.lane IS NOT NULL
)
INSERT INTO tenants (queue, tenant, weight, is_waiting)
VALUES (:queue, :tenant, :weight, (
  SELECT count(*) FROM (
    SELECT 1 FROM jobs
    WHERE state = 'QUEUED' AND queue = :queue AND lane IN (SELECT lane FROM lanes) AND tenant = :tenant LIMIT 1) AS ready))
ON CONFLICT (queue, tenant) DO UPDATE SET weight = excluded.weight
