SELECT
  name, concurrency, rate_limit, rate_window_ms, max_length, overflow, burden AS queue_class, retry, timeout_ms,
  breaker, breaker_for_ms, paused_at, pause_reason
FROM queues WHERE name = coalesce(:name, name) ORDER BY name
