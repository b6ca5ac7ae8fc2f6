INSERT INTO queues (
  name, concurrency, rate_limit, rate_window_ms, max_length, overflow, burden, retry, timeout_ms, breaker, breaker_for_ms
)
VALUES (
  :name, :concurrency, :rate_limit, :rate_window_ms, :max_length, :overflow, :queue_class, :retry, :timeout_ms, :breaker,
  :breaker_for_ms
)
ON CONFLICT (name) DO UPDATE
SET concurrency = EXCLUDED.concurrency, rate_limit = EXCLUDED.rate_limit, rate_window_ms = EXCLUDED.rate_window_ms,
    max_length = EXCLUDED.max_length, overflow = EXCLUDED.overflow, burden = EXCLUDED.burden, retry = EXCLUDED.retry,
    timeout_ms = EXCLUDED.timeout_ms, breaker = EXCLUDED.breaker, breaker_for_ms = EXCLUDED.breaker_for_ms,
    opens_at = NULL
