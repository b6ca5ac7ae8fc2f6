-- A waiting job ends without a run.
UPDATE jobs
SET state = :state, finished_at = :now, reason = :reason, error_code = :error_code
WHERE id = :job_id AND state IN ('SCHEDULED', 'QUEUED')
