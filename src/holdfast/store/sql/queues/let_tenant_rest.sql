-- A tenant that has no ready job left waits for no turn.
WITH RECURSIVE @part(lanes)
UPDATE tenants SET is_waiting = 0
WHERE queue = :queue AND tenant = :tenant AND NOT EXISTS (
  SELECT 1 FROM lanes
  WHERE EXISTS (
    SELECT 1 FROM jobs
    WHERE state = 'QUEUED' AND jobs.queue = :queue AND jobs.lane = lanes.lane AND jobs.tenant = :tenant))
