INSERT INTO queue_pressure (queue, reading, says, since) VALUES (:queue, :reading, :says, :since)
ON CONFLICT (queue, reading) DO UPDATE SET says = excluded.says
