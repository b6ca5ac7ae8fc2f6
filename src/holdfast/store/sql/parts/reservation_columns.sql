id, scope, reserved_by, session_id, status, ttl_ms, reserved_at, granted_at, expires_at, ended_at
