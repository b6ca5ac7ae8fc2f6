SELECT * FROM events WHERE is_spreading = 1 ORDER BY number LIMIT 1
