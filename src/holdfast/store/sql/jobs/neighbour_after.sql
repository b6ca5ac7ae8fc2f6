-- The place of the ready job behind another one, over all lanes. Two jobs may share a place, so the whole order counts.
WITH RECURSIVE @part(lanes)
SELECT min((
  SELECT position FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND jobs.lane = lanes.lane AND tenant = :tenant AND priority = :priority
    AND (position, created_at, id) > (:position, :created_at, :id)
  ORDER BY position, created_at, id LIMIT 1))
FROM lanes
