INSERT INTO queues (name, concurrency, rate_limit, rate_window_ms, max_length, overflow, class, retry, timeout_ms)
VALUES (:name, :concurrency, :rate_limit, :rate_window_ms, :max_length, :overflow, :queue_class, :retry, :timeout_ms)
ON CONFLICT (name) DO UPDATE
SET concurrency = EXCLUDED.concurrency, rate_limit = EXCLUDED.rate_limit, rate_window_ms = EXCLUDED.rate_window_ms,
    max_length = EXCLUDED.max_length, overflow = EXCLUDED.overflow, class = EXCLUDED.class, retry = EXCLUDED.retry,
    timeout_ms = EXCLUDED.timeout_ms, opens_at = NULL
