INSERT INTO watch_changes (watch_id, path, change) VALUES (:watch_id, :path, :change)
@upsert(watch_id, path: change)
