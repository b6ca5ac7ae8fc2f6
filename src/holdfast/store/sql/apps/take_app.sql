-- By a session that lives and goes on, if nobody has it and it is wanted.
UPDATE apps SET session_id = :session_id, class = :class_name, status = 'starting', started_at = :now, last_batch = 0,
  error_type = NULL, error_message = NULL, error_traceback = NULL
WHERE app_key = :app_key AND instance_index = :instance_index AND status = 'waiting' AND wanted = 'running'
  AND EXISTS (
    SELECT 1 FROM sessions AS s
    WHERE s.id = :session_id AND s.status = 'running' AND s.stop_requested_at IS NULL)
