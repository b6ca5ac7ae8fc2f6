-- Newest first, of one name.
SELECT * FROM events WHERE name = :name AND number < :below ORDER BY number DESC LIMIT :limit
