-- Newest first; `name_to` is behind every name that is meant.
SELECT * FROM events
WHERE (emitted_at, id) < (:below_moment, :below_id) AND name >= :name_from AND name < :name_to
ORDER BY emitted_at DESC, id DESC LIMIT :limit
