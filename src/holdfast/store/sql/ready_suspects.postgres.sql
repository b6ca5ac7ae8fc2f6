-- Jobs that wait to run with nothing beside them, longest wait first; usually none.
SELECT number, id, queued_at, cpu, gpu, io, tokens_since FROM jobs
WHERE state = 'QUEUED' AND is_suspect = 1 AND (lane & 31 & :open_lanes) = (lane & 31) AND node IN (0, :node)
  AND queue = ANY (ARRAY(SELECT json_array_elements_text(CAST(:queues AS json))))
  AND job_type = ANY (ARRAY(SELECT json_array_elements_text(CAST(:tasks AS json))))
ORDER BY queued_at, number LIMIT :limit
