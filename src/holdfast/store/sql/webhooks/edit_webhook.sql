UPDATE webhooks SET name = :name, url = :url, secret = :secret, previous_secret = :previous_secret,
  previous_until = :previous_until, patterns = :patterns, timeout_ms = :timeout_ms, updated_at = :now
WHERE id = :id
