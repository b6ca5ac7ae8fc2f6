DELETE FROM events WHERE id = :id
