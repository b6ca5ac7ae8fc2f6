SELECT name, paused_at, pause_reason, @columns(queue)
FROM queues WHERE name = coalesce(:name, name) ORDER BY name
