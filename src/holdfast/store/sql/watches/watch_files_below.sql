-- What a watch remembers between two paths: all that is in a folder.
SELECT path, fingerprint FROM watch_files
WHERE watch_id = :watch_id AND path >= :first AND path < :behind ORDER BY path LIMIT :limit
