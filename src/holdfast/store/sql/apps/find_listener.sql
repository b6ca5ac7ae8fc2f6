SELECT * FROM listeners WHERE id = :id
