UPDATE users SET token_hash = :token_hash, expires_at = :expires_at WHERE id = :id
