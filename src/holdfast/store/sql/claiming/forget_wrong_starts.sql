-- Starts of a clock that was wrong.
DELETE FROM queue_starts WHERE queue = :queue AND started_at > :horizon
