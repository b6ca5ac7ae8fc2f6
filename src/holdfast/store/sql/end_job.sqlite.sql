UPDATE jobs
SET state = :state, finished_at = :now, run_id = NULL, session_id = NULL, worker_id = NULL, stop_reason = NULL,
    is_suspect = 0, transient_tries = :transient_tries, infra_tries = :infra_tries, deaths = :deaths,
    error_code = :error_code, reason = :reason, result_summary = :result
WHERE id = :job_id AND run_id = :run_id AND state = 'RUNNING'
