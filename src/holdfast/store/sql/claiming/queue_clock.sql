SELECT virtual_time FROM queue_clocks WHERE queue = :queue
