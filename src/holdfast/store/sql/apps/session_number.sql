SELECT number FROM sessions WHERE id = :session_id
