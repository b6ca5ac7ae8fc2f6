DELETE FROM queue_pressure WHERE queue = :queue AND reading = :reading
