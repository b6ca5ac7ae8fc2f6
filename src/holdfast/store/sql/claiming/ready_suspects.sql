-- Jobs that wait to run with nothing beside them, longest wait first; usually none.
-- What is put behind the queue and the task keeps the planner on the index of suspects.
SELECT number, id, queued_at, cpu, gpu, io, tokens_since FROM jobs
WHERE state = 'QUEUED' AND is_suspect = 1 AND (lane & 31 & :open_lanes) = (lane & 31) AND node IN (0, :node)
  AND queue || '' @in(:queues) AND job_type || '' @in(:tasks)
ORDER BY queued_at, number LIMIT :limit
