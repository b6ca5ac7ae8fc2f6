SELECT number, id, name, seen_at FROM nodes ORDER BY name
