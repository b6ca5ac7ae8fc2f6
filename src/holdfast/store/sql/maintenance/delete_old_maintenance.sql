-- Chores of places that nobody has looked after for long.
DELETE FROM maintenance WHERE due_at < :before
