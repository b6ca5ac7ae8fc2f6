SELECT node FROM sessions WHERE id = :session_id
