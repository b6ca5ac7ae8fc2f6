-- The start with which so many had been started in all.
SELECT started_at FROM queue_starts WHERE queue = :queue AND total >= :total ORDER BY total LIMIT 1
