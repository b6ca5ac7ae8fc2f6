SELECT number FROM events WHERE emitted_at < :before AND is_spreading = 0 ORDER BY emitted_at, number LIMIT :limit
