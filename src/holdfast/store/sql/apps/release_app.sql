-- Its owner gives it back.
UPDATE apps SET session_id = NULL, status = CASE wanted WHEN 'stopped' THEN 'stopped' ELSE 'waiting' END
WHERE app_key = :app_key AND instance_index = :instance_index AND session_id = :session_id
