-- How many ready jobs of its own tenant stand before a job, over the lanes of its queue that are for any machine or for its
-- own; in each lane at most so many of a higher priority and of its own are counted.
WITH RECURSIVE @part(lanes)
SELECT coalesce(sum(
  (SELECT count(*) FROM (
     SELECT 1 FROM jobs
     WHERE state = 'QUEUED' AND queue = :queue AND jobs.lane = lanes.lane AND tenant = :tenant
       AND priority > :priority
     LIMIT :most) AS ready)
  + (SELECT count(*) FROM (
     SELECT 1 FROM jobs
     WHERE state = 'QUEUED' AND queue = :queue AND jobs.lane = lanes.lane AND tenant = :tenant
       AND priority = :priority AND (position, created_at, id) < (:position, :created_at, :id)
     LIMIT :most) AS ready)
), 0) AS ahead
FROM lanes WHERE lane IS NOT NULL AND (lane < 32 OR (lane >= 32 * :node AND lane < 32 * :node + 32))
