-- Newest first, of one status.
SELECT e.id, e.session_number, e.started_at, e.duration_ms, e.status, e.fingerprint, e.error_type, e.error_message,
  e.error_traceback, j.app_key, j.instance_index, j.job_name AS name, j.handler_method, NULL AS listener_id,
  j.id AS job_id
FROM job_executions AS e JOIN scheduled_jobs AS j ON j.id = e.job_id
WHERE e.status = :status AND e.status <> 'success' AND (e.started_at, e.id) < (:started_at, :below)
  AND e.started_at >= :since AND (CAST(:app_key AS TEXT) IS NULL OR j.app_key = :app_key)
ORDER BY e.started_at DESC, e.id DESC LIMIT :limit
