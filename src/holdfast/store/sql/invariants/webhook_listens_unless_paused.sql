-- An event finds a webhook by its patterns: one that is paused has none, any other has some.
SELECT w.id, w.is_enabled, count(p.pattern) AS patterns
FROM webhooks AS w LEFT JOIN event_patterns AS p ON p.owner = w.id
GROUP BY w.id, w.is_enabled HAVING (w.is_enabled = 1) <> (count(p.pattern) > 0)
