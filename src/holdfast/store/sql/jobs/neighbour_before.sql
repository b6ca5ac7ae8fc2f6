-- The place of the ready job ahead of another one, over all lanes. Two jobs may share a place, so the whole order counts.
WITH RECURSIVE @part(lanes)
SELECT max((
  SELECT position FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND jobs.lane = lanes.lane AND tenant = :tenant AND priority = :priority
    AND (position, created_at, id) < (:position, :created_at, :id)
  ORDER BY position DESC, created_at DESC, id DESC LIMIT 1))
FROM lanes
