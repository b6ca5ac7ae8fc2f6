UPDATE sessions SET rows_dropped = :rows_dropped WHERE id = :session_id
