-- A page of what a watch remembers.
SELECT path, fingerprint FROM watch_files WHERE watch_id = :watch_id AND path > :after ORDER BY path LIMIT :limit
