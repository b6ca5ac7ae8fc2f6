INSERT INTO queue_clocks (queue, virtual_time) VALUES (:queue, :virtual_time)
ON CONFLICT (queue) DO UPDATE SET virtual_time = excluded.virtual_time
