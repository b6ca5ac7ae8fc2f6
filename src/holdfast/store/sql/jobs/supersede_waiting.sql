-- A newer generation came: what waits for an older one gives way. Whether others may have been held back for its sake.
UPDATE jobs
SET state = 'SUPERSEDED', finished_at = :now, reason = :reason
WHERE job_type = :job_type AND subject_key = :subject_key AND state IN ('SCHEDULED', 'QUEUED')
  AND subject_key IS NOT NULL
RETURNING id, queue, trace_id, generation, CASE WHEN is_suspect = 1 OR tokens_since IS NOT NULL THEN 1 ELSE 0 END AS is_favoured
