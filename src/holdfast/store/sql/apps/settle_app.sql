-- What its owner says of it. A session that is not the owner changes nothing.
UPDATE apps SET status = :status,
  error_type = :error_type, error_message = :error_message, error_traceback = :error_traceback
WHERE app_key = :app_key AND instance_index = :instance_index AND session_id = :session_id
