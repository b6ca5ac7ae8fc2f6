INSERT INTO users (id, name, role, token_hash, created_at, expires_at)
VALUES (:id, :name, :role, :token_hash, :now, :expires_at)
