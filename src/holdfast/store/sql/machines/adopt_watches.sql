UPDATE watches SET node = :id WHERE node = :name
