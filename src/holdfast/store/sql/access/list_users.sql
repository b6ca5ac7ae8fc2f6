SELECT @part(user_columns) FROM users
WHERE id <> 'local'
ORDER BY disabled_at IS NOT NULL, name, created_at
