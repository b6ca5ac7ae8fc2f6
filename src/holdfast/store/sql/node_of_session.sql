SELECT node FROM sessions WHERE id = :id
