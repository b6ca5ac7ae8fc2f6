-- Starts that no window sees any more.
DELETE FROM queue_starts WHERE queue = :queue AND started_at <= :since
