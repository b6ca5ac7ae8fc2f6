UPDATE jobs
SET state = 'DONE', finished_at = :now, run_id = NULL, session_id = NULL, worker_id = NULL, stop_reason = NULL,
    is_suspect = 0, result_summary = :result
WHERE id = :job_id AND run_id = :run_id AND state = 'RUNNING'
  AND EXISTS (
    SELECT 1 FROM sessions AS s WHERE s.id = jobs.session_id AND s.secret_hash IS NOT DISTINCT FROM :secret_hash)
RETURNING CAST(:run_id AS TEXT), queue, trace_id
