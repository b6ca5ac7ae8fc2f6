SELECT number, name FROM events WHERE number > :number ORDER BY number LIMIT :limit
