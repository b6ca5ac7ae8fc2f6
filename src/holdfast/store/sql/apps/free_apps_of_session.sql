-- All that a session has, when it has ended.
UPDATE apps SET session_id = NULL, status = CASE wanted WHEN 'stopped' THEN 'stopped' ELSE 'waiting' END
WHERE session_id = :session_id
