SELECT * FROM watches WHERE id = :id
