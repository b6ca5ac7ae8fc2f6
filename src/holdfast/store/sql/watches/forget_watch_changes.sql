DELETE FROM watch_changes WHERE watch_id = :watch_id
