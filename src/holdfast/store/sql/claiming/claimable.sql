-- The head of one tenant's line in a lane of a queue: ready jobs of the offered tasks whose subject is not busy, in order.
SELECT @part(claimed_columns)
FROM jobs
WHERE state = 'QUEUED' AND queue = :queue AND lane = :lane AND tenant = :tenant AND is_suspect = 0
  AND job_type @in(:tasks)
  AND @part(claimable)
ORDER BY priority DESC, position, created_at, id
-- Hidden from the planner of PostgreSQL, so that it keeps the plan: decision 052.
LIMIT (SELECT CAST(:slots AS BIGINT))
