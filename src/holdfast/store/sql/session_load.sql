-- Whether a session lives, what it is running, and whether a suspect is among that, which must run alone.
SELECT count(*) AS running, coalesce(max(is_suspect), 0) AS suspects,
  (SELECT status FROM sessions WHERE id = :session_id) AS status
FROM jobs WHERE state = 'RUNNING' AND session_id = :session_id
