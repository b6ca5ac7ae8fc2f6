INSERT INTO webhooks (id, name, url, secret, patterns, timeout_ms, created_at, updated_at)
VALUES (:id, :name, :url, :secret, :patterns, :timeout_ms, :now, :now)
