-- The heads of several tenants' lines: `claimable_commands` for each of them, at most `slots` a tenant.
SELECT @part(claimed_columns)
FROM (SELECT value AS name FROM json_each(:tenants)) AS t JOIN jobs AS head ON head.number IN (
  SELECT number FROM jobs
  WHERE state = 'QUEUED' AND queue = :queue AND lane = :lane AND tenant = t.name AND is_suspect = 0
    AND job_type = 'command'
    AND @part(claimable)
  ORDER BY priority DESC, position, created_at, id
  LIMIT :slots)
