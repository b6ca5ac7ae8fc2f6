SELECT name, concurrency, max_length, class, paused_at, pause_reason FROM queues ORDER BY name
