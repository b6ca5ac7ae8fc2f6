UPDATE jobs
SET state = 'DONE', finished_at = r.now, run_id = NULL, session_id = NULL, worker_id = NULL, stop_reason = NULL,
    is_suspect = 0, result_summary = r.result,
    log_path = coalesce(r.log_path, jobs.log_path), artifact_path = coalesce(r.artifact_path, jobs.artifact_path)
@rows(r: job_id TEXT, run_id TEXT, result TEXT, now BIGINT, secret_hash TEXT, log_path TEXT, artifact_path TEXT)
WHERE jobs.id = r.job_id AND jobs.run_id = r.run_id AND jobs.state = 'RUNNING'
  AND EXISTS (
    SELECT 1 FROM sessions AS s WHERE s.id = jobs.session_id AND s.secret_hash IS NOT DISTINCT FROM r.secret_hash)
RETURNING CAST(r.run_id AS TEXT), jobs.queue, jobs.trace_id
