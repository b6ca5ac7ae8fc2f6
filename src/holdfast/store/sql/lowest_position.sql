SELECT min((
  SELECT min(position) FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND jobs.lane = lanes.lane AND tenant = :tenant AND priority = :priority))
FROM (SELECT 0 AS lane UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) AS lanes
