SELECT token_hash FROM users
WHERE disabled_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
