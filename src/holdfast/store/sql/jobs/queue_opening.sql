SELECT opens_at FROM queues WHERE name = :queue
