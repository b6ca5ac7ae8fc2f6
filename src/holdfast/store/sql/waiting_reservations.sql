-- Who stands in line, the first one first.
SELECT id, scope, reserved_by, session_id, status, ttl_ms, reserved_at, granted_at, expires_at, ended_at
FROM direct_reservations WHERE status = 'WAITING' ORDER BY reserved_at, id
