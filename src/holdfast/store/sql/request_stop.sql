UPDATE jobs SET stop_reason = 'cancel', cancel_requested_at = :now
WHERE id = :job_id AND state = 'RUNNING' AND stop_reason IS DISTINCT FROM 'cancel'
