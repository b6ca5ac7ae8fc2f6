-- The commands of one tenant in a lane of a queue that are ready, in order: `claimable` for a worker that offers nothing else.
SELECT @part(claimed_columns)
FROM jobs
WHERE state = 'QUEUED' AND queue = :queue AND lane = :lane AND tenant = :tenant AND is_suspect = 0
  AND job_type = 'command'
  AND @part(claimable)
ORDER BY priority DESC, position, created_at, id
-- Hidden from the planner of PostgreSQL, so that it keeps the plan: decision 052.
LIMIT (SELECT CAST(:slots AS BIGINT))
