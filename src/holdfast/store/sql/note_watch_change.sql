INSERT INTO watch_changes (watch_id, path, change) VALUES (:watch_id, :path, :change)
ON CONFLICT (watch_id, path) DO UPDATE SET change = excluded.change
