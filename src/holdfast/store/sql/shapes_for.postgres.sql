-- What is waited for by any of these patterns.
SELECT pattern, attributes, webhook_id FROM event_patterns
WHERE pattern = ANY (ARRAY(SELECT json_array_elements_text(CAST(:patterns AS json))))
