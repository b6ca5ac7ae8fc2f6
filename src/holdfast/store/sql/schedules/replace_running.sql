-- A newer tick takes the place of a job that runs. Whoever asked for its stop before had another reason.
UPDATE jobs SET stop_reason = 'superseded', cancel_requested_at = :now
WHERE id = :job_id AND state = 'RUNNING' AND stop_reason IS NULL
