SELECT
  name, concurrency, rate_limit, rate_window_ms, max_length, overflow, class AS queue_class, retry, timeout_ms,
  paused_at, pause_reason
FROM queues WHERE name = coalesce(:name, name) ORDER BY name
