SELECT * FROM watches WHERE name = :name
