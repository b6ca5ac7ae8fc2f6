-- Those that have opened.
SELECT queue, failures, failed_at, reason, opened_at, half_opens_at, is_half_open, probe
FROM queue_breakers WHERE opened_at IS NOT NULL ORDER BY queue
