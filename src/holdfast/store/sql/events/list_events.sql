-- Newest first; `name_to` is behind every name that is meant.
SELECT * FROM events
WHERE number < :below AND name >= :name_from AND name < :name_to
ORDER BY number DESC LIMIT :limit
