SELECT burden FROM queues WHERE name = :queue
