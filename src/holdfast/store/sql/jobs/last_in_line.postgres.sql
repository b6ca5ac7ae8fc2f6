-- Ready jobs that have never run, those of the lowest priority and at the end of their line first, of each tenant.
WITH RECURSIVE @part(lanes)
SELECT victims.*
FROM (SELECT json_array_elements_text(CAST(:tenants AS json)) AS name) AS t,
  lanes,
  LATERAL (
    SELECT id, priority, number FROM jobs
    WHERE state = 'QUEUED' AND queue = :queue AND jobs.lane = lanes.lane AND tenant = t.name AND priority < :below
      AND attempts = 0 AND number <= :upto
    ORDER BY priority, position DESC, created_at DESC, id DESC
    LIMIT :limit) AS victims
