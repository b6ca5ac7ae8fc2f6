DELETE FROM workers WHERE session_id = :session_id
