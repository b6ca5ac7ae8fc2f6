SELECT * FROM events WHERE is_spreading = 1 ORDER BY emitted_at, id LIMIT 1
