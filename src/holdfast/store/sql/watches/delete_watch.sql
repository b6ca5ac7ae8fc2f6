DELETE FROM watches WHERE id = :id
