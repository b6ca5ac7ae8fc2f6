-- The first start that the window still sees.
SELECT started_at, starts, total FROM queue_starts
WHERE queue = :queue AND started_at > :since ORDER BY started_at LIMIT 1
