INSERT INTO direct_reservations (id, scope, reserved_by, session_id, status, ttl_ms, reserved_at, expires_at)
VALUES (:id, :scope, :reserved_by, :session_id, :status, :ttl_ms, :now, :expires_at)
