DELETE FROM events WHERE number = :number
