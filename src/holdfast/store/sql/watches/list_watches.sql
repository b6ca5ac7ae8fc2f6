SELECT * FROM watches WHERE name > :after ORDER BY name LIMIT :limit
