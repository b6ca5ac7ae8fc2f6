SELECT @part(user_columns) FROM users WHERE token_hash = :token_hash
