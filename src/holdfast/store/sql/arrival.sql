-- Where a new job comes to stand: the last place of its tenant in its queue at its priority, over all lanes, and what
-- the queue says of new jobs.
SELECT
  (SELECT max((
     SELECT max(position) FROM jobs
     WHERE state = 'QUEUED' AND queue = :queue AND jobs.lane = lanes.lane AND tenant = :tenant
       AND priority = :priority))
   FROM (SELECT 0 AS lane UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) AS lanes) AS position,
  q.max_length, q.overflow, q.retry, q.timeout_ms
FROM (SELECT 1 AS one) AS asked LEFT JOIN queues AS q ON q.name = :queue
