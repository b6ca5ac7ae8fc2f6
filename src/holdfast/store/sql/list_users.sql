SELECT id, name, role, created_at, expires_at, last_used_at, disabled_at FROM users
ORDER BY disabled_at IS NOT NULL, name, created_at
