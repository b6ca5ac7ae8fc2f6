-- Jobs that others have passed for long enough, longest first; of those that the machine could hold, and that nothing but
-- their queue and their worker can still hold.
SELECT number, id, queue, job_type AS task, tenant, priority, position, created_at, lane, cpu, gpu, io, tokens_since, has_aged,
  is_suspect
FROM jobs
WHERE state = 'QUEUED' AND tokens_since IS NOT NULL AND tokens_since <= :before
  AND cpu <= :cpu AND gpu <= :gpu AND io <= :io AND (lane & 3 & :open_lanes) = (lane & 3)
  AND node IN (0, :node)
  AND @part(claimable)
ORDER BY tokens_since, number LIMIT :limit
