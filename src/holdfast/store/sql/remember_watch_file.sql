INSERT INTO watch_files (watch_id, path, fingerprint) VALUES (:watch_id, :path, :fingerprint)
ON CONFLICT (watch_id, path) DO UPDATE SET fingerprint = excluded.fingerprint
