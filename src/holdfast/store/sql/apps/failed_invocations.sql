-- Newest first, of one status.
SELECT i.id, i.session_number, i.started_at, i.duration_ms, i.status, i.fingerprint, i.error_type, i.error_message,
  i.error_traceback, l.app_key, l.instance_index, l.name, l.handler_method, l.id AS listener_id, NULL AS job_id
FROM handler_invocations AS i JOIN listeners AS l ON l.id = i.listener_id
WHERE i.status = :status AND i.status <> 'success' AND (i.started_at, i.id) < (:started_at, :below)
  AND i.started_at >= :since AND (CAST(:app_key AS TEXT) IS NULL OR l.app_key = :app_key)
ORDER BY i.started_at DESC, i.id DESC LIMIT :limit
