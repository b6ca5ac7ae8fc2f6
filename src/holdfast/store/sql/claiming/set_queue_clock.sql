INSERT INTO queue_clocks (queue, virtual_time) VALUES (:queue, :virtual_time)
@upsert(queue: virtual_time)
