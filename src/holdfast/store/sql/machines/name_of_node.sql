SELECT name FROM nodes WHERE number = :number
