UPDATE jobs
SET state = 'DONE', finished_at = :now, run_id = NULL, session_id = NULL, worker_id = NULL, stop_reason = NULL,
    is_suspect = 0, result_summary = :result
WHERE id = :job_id AND run_id = :run_id AND state = 'RUNNING'
RETURNING CAST(:run_id AS TEXT), queue, trace_id
