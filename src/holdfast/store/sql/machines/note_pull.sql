UPDATE sessions SET pulls_at = :pulls_at WHERE id = :session_id
