-- A running job waits again: until a moment (SCHEDULED), or at once in its old place (QUEUED).
UPDATE jobs
SET state = :state, scheduled_at = :until, queued_at = CASE WHEN :state = 'QUEUED' THEN :now ELSE queued_at END,
    run_id = NULL, session_id = NULL, worker_id = NULL, stop_reason = NULL, cancel_requested_at = NULL,
    is_suspect = :is_suspect, transient_tries = :transient_tries, infra_tries = :infra_tries, deaths = :deaths,
    reason = :reason, progress = NULL, progress_text = NULL
WHERE id = :job_id AND run_id = :run_id AND state = 'RUNNING'
