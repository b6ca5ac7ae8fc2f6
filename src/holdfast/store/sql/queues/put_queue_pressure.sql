INSERT INTO queue_pressure (queue, reading, says, since) VALUES (:queue, :reading, :says, :since)
@upsert(queue, reading: says)
