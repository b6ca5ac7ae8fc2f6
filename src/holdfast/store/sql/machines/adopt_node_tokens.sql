UPDATE node_tokens SET node = :id WHERE node = :name
