-- The same as `line_heads`, for a worker that offers nothing but commands.
SELECT heads.*
FROM (SELECT json_array_elements_text(CAST(:tenants AS json)) AS name) AS t,
  (SELECT CAST(json_array_elements_text(CAST(:lanes AS json)) AS BIGINT) AS lane) AS l, LATERAL (
  SELECT number, id, tenant, priority, position, created_at, lane, cpu, gpu, io, tokens_since
  FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND lane = l.lane AND tenant = t.name AND is_suspect = 0
    AND job_type = 'command'
    AND cpu <= :cpu AND gpu <= :gpu AND io <= :io
    AND @part(claimable)
  ORDER BY priority DESC, position, created_at, id
  -- Hidden from the planner, so that it keeps the plan: decision 052.
  LIMIT (SELECT CAST(:limit AS BIGINT))) AS heads
