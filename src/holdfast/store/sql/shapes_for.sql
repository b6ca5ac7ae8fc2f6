-- What is waited for by any of these patterns.
SELECT pattern, attributes, webhook_id FROM event_patterns WHERE pattern @in(:patterns)
