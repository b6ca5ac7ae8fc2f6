UPDATE direct_reservations SET status = 'EXPIRED', ended_at = :now
WHERE session_id = :session_id AND status IN ('ACTIVE', 'WAITING')
RETURNING id, scope, reserved_by
