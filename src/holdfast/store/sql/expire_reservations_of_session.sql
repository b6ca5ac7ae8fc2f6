UPDATE direct_reservations SET status = 'EXPIRED', ended_at = :now
WHERE status = 'ACTIVE' AND session_id = :session_id
RETURNING scope
