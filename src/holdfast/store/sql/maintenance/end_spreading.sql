UPDATE events SET is_spreading = 0 WHERE id = :id
