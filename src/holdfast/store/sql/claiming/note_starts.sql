INSERT INTO queue_starts (queue, started_at, starts, total) VALUES (:queue, :started_at, :starts, :total)
ON CONFLICT (queue, started_at) DO UPDATE SET starts = queue_starts.starts + EXCLUDED.starts, total = EXCLUDED.total
