SELECT session_id FROM apps WHERE app_key = :app_key AND instance_index = :instance_index
