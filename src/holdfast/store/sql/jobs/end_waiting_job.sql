-- A waiting job ends without a run. What is told of it, and whether others may have been held back for its sake: 1 or 0.
UPDATE jobs
SET state = :state, finished_at = :now, reason = :reason, error_code = :error_code
WHERE id = :job_id AND state IN ('SCHEDULED', 'QUEUED')
RETURNING queue, trace_id, generation, CASE WHEN is_suspect = 1 OR tokens_since IS NOT NULL THEN 1 ELSE 0 END AS is_favoured
