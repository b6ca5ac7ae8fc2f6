-- The first request stands: asking again is harmless, and still says that the job is running.
UPDATE jobs
SET stop_reason = 'cancel', cancel_requested_at = CASE WHEN stop_reason = 'cancel' THEN cancel_requested_at ELSE :now END
WHERE id = :job_id AND state = 'RUNNING'
