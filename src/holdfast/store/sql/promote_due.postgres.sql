-- Ready since the last of its time, its event and its dependencies came true, also if nobody ran then.
UPDATE jobs SET state = 'QUEUED', reason = NULL,
  queued_at = greatest(created_at, scheduled_at,
    (SELECT max(c.satisfied_at) FROM job_conditions c WHERE c.job_id = jobs.id))
WHERE number IN (
  SELECT number FROM jobs
  WHERE state = 'SCHEDULED' AND open_conditions = 0 AND scheduled_at IS NOT NULL AND scheduled_at <= :now
  ORDER BY scheduled_at, number LIMIT :limit)
RETURNING queue
