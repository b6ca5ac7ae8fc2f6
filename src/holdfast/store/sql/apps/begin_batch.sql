-- False for one that was written before, or by a session that is not the owner.
UPDATE apps SET last_batch = :batch
WHERE app_key = :app_key AND instance_index = :instance_index AND session_id = :session_id AND last_batch < :batch
