-- The number tells a session without a secret from none at all.
SELECT 1 AS is_there, secret_hash FROM sessions WHERE id = :id
