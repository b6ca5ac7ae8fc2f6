-- The heads of several tenants' lines: `claimable` for each of them, at most `slots` a tenant.
SELECT heads.*
FROM (SELECT json_array_elements_text(CAST(:tenants AS json)) AS name) AS t, LATERAL (
  SELECT @part(claimed_columns)
  FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND lane = :lane AND tenant = t.name AND is_suspect = 0
    AND job_type @in(:tasks)
    AND @part(claimable)
  ORDER BY priority DESC, position, created_at, id
  -- Hidden from the planner, so that it keeps the plan: decision 052.
  LIMIT (SELECT CAST(:slots AS BIGINT))) AS heads
