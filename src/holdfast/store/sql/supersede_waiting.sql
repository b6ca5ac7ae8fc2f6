-- A newer generation came: what waits for an older one gives way.
UPDATE jobs
SET state = 'SUPERSEDED', finished_at = :now, reason = :reason
WHERE job_type = :job_type AND subject_key = :subject_key AND state IN ('SCHEDULED', 'QUEUED')
  AND subject_key IS NOT NULL
RETURNING id
