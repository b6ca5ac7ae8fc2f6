-- The heads of tenants' lines in lanes of a queue, at most so many of each, of jobs that the machine could ever hold.
SELECT number, id, tenant, priority, position, created_at, head.lane AS lane, cpu, gpu, io, tokens_since
FROM (SELECT value AS name FROM json_each(:tenants)) AS t CROSS JOIN (SELECT value AS lane FROM json_each(:lanes)) AS l
JOIN jobs AS head ON head.number IN (
  SELECT number FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND lane = l.lane AND tenant = t.name AND is_suspect = 0
    AND job_type @in(:tasks)
    AND cpu <= :cpu AND gpu <= :gpu AND io <= :io
    AND @part(claimable)
  ORDER BY priority DESC, position, created_at, id
  LIMIT :limit)
