-- The heads of tenants' lines in lanes of a queue, at most so many of each, of jobs that the machine could ever hold.
SELECT heads.*
FROM (SELECT json_array_elements_text(CAST(:tenants AS json)) AS name) AS t,
  (SELECT CAST(json_array_elements_text(CAST(:lanes AS json)) AS BIGINT) AS lane) AS l, LATERAL (
  SELECT number, id, tenant, priority, position, created_at, lane, cpu, gpu, io, tokens_since
  FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND lane = l.lane AND tenant = t.name AND is_suspect = 0
    AND job_type = ANY (ARRAY(SELECT json_array_elements_text(CAST(:tasks AS json))))
    AND cpu <= :cpu AND gpu <= :gpu AND io <= :io
    AND (deadline IS NULL OR deadline > :now)
    AND (ttl_ms IS NULL OR queued_at + ttl_ms > :now)
    AND (subject_key IS NULL OR NOT EXISTS (
      SELECT 1 FROM jobs AS busy
      WHERE busy.state = 'RUNNING' AND busy.job_type = jobs.job_type AND busy.subject_key = jobs.subject_key
        AND busy.subject_key IS NOT NULL))
  ORDER BY priority DESC, position, created_at, id
  -- Hidden from the planner, so that it keeps the plan: decision 052.
  LIMIT (SELECT CAST(:limit AS BIGINT))) AS heads
