INSERT INTO event_patterns (pattern, attributes, owner) VALUES (:pattern, :attributes, :owner)
ON CONFLICT (pattern, attributes, owner) DO NOTHING
