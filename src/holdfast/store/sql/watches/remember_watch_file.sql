INSERT INTO watch_files (watch_id, path, fingerprint) VALUES (:watch_id, :path, :fingerprint)
@upsert(watch_id, path: fingerprint)
