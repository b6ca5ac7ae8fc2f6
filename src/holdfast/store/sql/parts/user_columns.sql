id, name, role, created_at, expires_at, last_used_at, disabled_at
