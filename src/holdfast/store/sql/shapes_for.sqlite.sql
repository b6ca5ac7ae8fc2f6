-- What is waited for by any of these patterns.
SELECT pattern, attributes, webhook_id FROM event_patterns
WHERE pattern IN (SELECT value FROM json_each(:patterns))
