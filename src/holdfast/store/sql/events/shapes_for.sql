-- What is waited for by any of these patterns.
SELECT pattern, attributes, owner FROM event_patterns WHERE pattern @in(:patterns)
