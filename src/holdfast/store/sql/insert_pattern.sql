INSERT INTO event_patterns (pattern, attributes, webhook_id) VALUES (:pattern, :attributes, :webhook_id)
ON CONFLICT (pattern, attributes, webhook_id) DO NOTHING
