-- Breakers that have been open for long enough, or were opened by a clock that was wrong.
UPDATE queue_breakers SET is_half_open = 1
WHERE is_half_open = 0 AND half_opens_at IS NOT NULL AND (half_opens_at <= :now OR opened_at > :ahead)
RETURNING queue
