SELECT id, name, role, created_at, expires_at, last_used_at, disabled_at FROM users WHERE token_hash = :token_hash
