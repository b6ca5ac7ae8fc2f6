UPDATE nodes SET name = :name, seen_at = :now WHERE id = :id
