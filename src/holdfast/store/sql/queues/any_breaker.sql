-- Whether any queue counts failures: most of the time none does.
SELECT 1 FROM queue_breakers LIMIT 1
