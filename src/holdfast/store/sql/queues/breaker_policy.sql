SELECT breaker AS failures, breaker_for_ms AS open_ms FROM queues WHERE name = :queue
