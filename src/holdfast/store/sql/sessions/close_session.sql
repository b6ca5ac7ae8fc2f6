UPDATE sessions SET status = :status, stopped_at = :stopped_at,
  error_type = :error_type, error_message = :error_message, error_traceback = :error_traceback
WHERE id = :id AND status = 'running'
  AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.state = 'RUNNING' AND jobs.session_id = sessions.id)
