SELECT @part(user_columns) FROM users
WHERE name = :name AND disabled_at IS NULL
