INSERT INTO watches (id, name, node, origin, created_at, updated_at, @columns(watch))
VALUES (:id, :name, :node, :origin, :now, :now, @columns(:watch))
