-- A worker lives as long as its session.

-- The session says when it was last seen.
ALTER TABLE workers DROP COLUMN seen_at;
