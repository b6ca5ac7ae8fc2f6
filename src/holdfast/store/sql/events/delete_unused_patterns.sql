-- Patterns that no job waits for any more. Behind a pattern and `?` stand the attributes; `@` follows `?`.
DELETE FROM event_patterns
WHERE owner = '' AND NOT EXISTS (
    SELECT 1 FROM job_conditions AS c
    WHERE c.key = 'event' AND c.satisfied_at IS NULL AND c.value = event_patterns.pattern)
  AND NOT EXISTS (
    SELECT 1 FROM job_conditions AS c
    WHERE c.key = 'event' AND c.satisfied_at IS NULL
      AND c.value >= event_patterns.pattern || '?' AND c.value < event_patterns.pattern || '@')
