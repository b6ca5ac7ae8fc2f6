SELECT queue, reading, says, since FROM queue_pressure ORDER BY queue, reading
