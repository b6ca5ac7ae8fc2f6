DELETE FROM queue_breakers WHERE queue = :queue
