SELECT @part(user_columns) FROM users
ORDER BY disabled_at IS NOT NULL, name, created_at
