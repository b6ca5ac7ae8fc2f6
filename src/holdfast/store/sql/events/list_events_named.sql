-- Newest first, of one name. Ids grow with time.
SELECT * FROM events WHERE name = :name AND id < :below_id ORDER BY id DESC LIMIT :limit
