SELECT number, id, name, seen_at FROM nodes WHERE id = :id
