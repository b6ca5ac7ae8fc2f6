-- The first place of a tenant in a queue at one priority, over all lanes.
WITH RECURSIVE @part(lanes)
SELECT min((
  SELECT min(position) FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND jobs.lane = lanes.lane AND tenant = :tenant AND priority = :priority))
FROM lanes
