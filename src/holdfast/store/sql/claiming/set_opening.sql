UPDATE queues SET opens_at = :opens_at WHERE name = :queue
