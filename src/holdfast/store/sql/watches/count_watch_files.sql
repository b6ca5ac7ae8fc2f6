SELECT count(*) FROM watch_files WHERE watch_id = :watch_id
