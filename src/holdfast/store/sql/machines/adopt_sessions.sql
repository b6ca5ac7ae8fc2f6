UPDATE sessions SET node = :id WHERE node = :name
