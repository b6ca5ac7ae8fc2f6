-- Other tenants with ready jobs in a queue, those whose turn comes first; of so many that may wait, those who do.
WITH RECURSIVE @part(lanes)
SELECT waiting.tenant FROM (
  SELECT tenant, virtual_time FROM tenants
  WHERE queue = :queue AND is_waiting = 1 AND tenant <> :tenant
  ORDER BY virtual_time, tenant LIMIT :looked_at
) AS waiting
WHERE EXISTS (
  SELECT 1 FROM lanes WHERE lanes.lane IS NOT NULL AND EXISTS (
    SELECT 1 FROM jobs
    WHERE state = 'QUEUED' AND queue = :queue AND jobs.lane = lanes.lane AND jobs.tenant = waiting.tenant))
ORDER BY virtual_time, tenant LIMIT :limit
