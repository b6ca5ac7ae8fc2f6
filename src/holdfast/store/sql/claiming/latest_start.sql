SELECT started_at, starts, total FROM queue_starts
WHERE queue = :queue AND started_at <= :horizon ORDER BY started_at DESC LIMIT 1
