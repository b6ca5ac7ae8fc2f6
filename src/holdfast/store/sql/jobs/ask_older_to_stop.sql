UPDATE jobs
SET stop_reason = 'superseded', cancel_requested_at = :now
WHERE job_type = :job_type AND subject_key = :subject_key AND subject_key IS NOT NULL AND state = 'RUNNING'
  AND stop_reason IS NULL
