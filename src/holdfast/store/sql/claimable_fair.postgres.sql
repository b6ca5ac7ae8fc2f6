-- The heads of several tenants' lines: `claimable` for each of them, at most `slots` a tenant.
SELECT heads.*
FROM (SELECT json_array_elements_text(CAST(:tenants AS json)) AS name) AS t, LATERAL (
  SELECT number, id, job_type, queue, attempts, subject_key, generation, timeout_ms, deadline, checkpoint,
    CASE WHEN octet_length(payload) <= 65536 THEN payload END AS payload,
    octet_length(payload) + coalesce(octet_length(checkpoint), 0) AS size,
    user_tag, trace_id, is_suspect, queued_at, template_id, priority, position, created_at, tenant
  FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND lane = :lane AND tenant = t.name AND is_suspect = 0
    AND job_type = ANY (ARRAY(SELECT json_array_elements_text(CAST(:tasks AS json))))
    AND (deadline IS NULL OR deadline > :now)
    AND (ttl_ms IS NULL OR queued_at + ttl_ms > :now)
    AND (subject_key IS NULL OR NOT EXISTS (
      SELECT 1 FROM jobs AS busy
      WHERE busy.state = 'RUNNING' AND busy.job_type = jobs.job_type AND busy.subject_key = jobs.subject_key
        AND busy.subject_key IS NOT NULL))
  ORDER BY priority DESC, position, created_at, id
  -- Hidden from the planner, so that it keeps the plan: decision 052.
  LIMIT (SELECT CAST(:slots AS BIGINT))) AS heads
