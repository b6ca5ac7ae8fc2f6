-- Starts that no window sees any more, and those of a clock that was wrong.
DELETE FROM queue_starts WHERE queue = :queue AND (started_at <= :since OR started_at > :horizon)
