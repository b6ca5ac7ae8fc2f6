UPDATE machines SET node = :id WHERE node = :name
