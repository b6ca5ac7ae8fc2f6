-- What a watch remembers of these paths.
SELECT path, fingerprint FROM watch_files WHERE watch_id = :watch_id AND path @in(:paths)
