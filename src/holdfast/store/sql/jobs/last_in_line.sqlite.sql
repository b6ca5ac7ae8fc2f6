-- Ready jobs that have never run, those of the lowest priority and at the end of their line first, of each tenant.
WITH RECURSIVE @part(lanes)
SELECT id, priority, number
FROM (SELECT value AS name FROM json_each(:tenants)) AS t
JOIN lanes
JOIN jobs AS victim ON victim.number IN (
  SELECT number FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND jobs.lane = lanes.lane AND tenant = t.name AND priority < :below
    AND attempts = 0 AND number <= :upto
  ORDER BY priority, position DESC, created_at DESC, id DESC
  LIMIT :limit)
