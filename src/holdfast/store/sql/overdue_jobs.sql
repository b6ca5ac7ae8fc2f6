-- Jobs that others have passed for long enough, longest first; of those that the machine could hold, and that nothing but
-- their queue and their worker can still hold.
SELECT number, id, queue, job_type AS task, tenant, priority, position, created_at, lane, cpu, gpu, io, tokens_since, has_aged,
  is_suspect
FROM jobs
WHERE state = 'QUEUED' AND tokens_since IS NOT NULL AND tokens_since <= :before
  AND cpu <= :cpu AND gpu <= :gpu AND io <= :io AND (lane & 3 & :open_lanes) = (lane & 3)
  AND node IN (0, :node)
  AND (deadline IS NULL OR deadline > :now)
  AND (ttl_ms IS NULL OR queued_at + ttl_ms > :now)
  AND (subject_key IS NULL OR NOT EXISTS (
    SELECT 1 FROM jobs AS busy
    WHERE busy.state = 'RUNNING' AND busy.job_type = jobs.job_type AND busy.subject_key = jobs.subject_key
      AND busy.subject_key IS NOT NULL))
ORDER BY tokens_since, number LIMIT :limit
