INSERT INTO nodes (id, name, seen_at) VALUES (:id, :name, :now)
