-- What a session is running, and whether a suspect is among it, which must run alone.
SELECT count(*) AS running, coalesce(max(is_suspect), 0) AS suspects
FROM jobs WHERE state = 'RUNNING' AND session_id = :session_id
