-- Where a new job comes to stand: the last place of its tenant in its queue at its priority, over all lanes, and what
-- the queue says of new jobs. `refused_by` is a machine that has no room for any; of one that is named, only that one. A
-- refusal that lasts for longer than any does is of a clock that was ahead. `known`: some worker has declared its task.
WITH RECURSIVE @part(lanes)
SELECT
  (SELECT max((
     SELECT max(position) FROM jobs
     WHERE state = 'QUEUED' AND queue = :queue AND jobs.lane = lanes.lane AND tenant = :tenant
       AND priority = :priority))
   FROM lanes) AS position,
  q.max_length, q.overflow, @columns(q.options_of_queue),
  (SELECT node FROM machines
   WHERE refuses_until > :now AND refuses_until <= :latest AND node = coalesce(CAST(:node AS TEXT), node)
   ORDER BY refuses_until DESC LIMIT 1) AS refused_by,
  (SELECT 1 FROM task_versions WHERE task = :task LIMIT 1) AS known
FROM (SELECT 1 AS one) AS asked LEFT JOIN queues AS q ON q.name = :queue
