INSERT INTO queue_breakers (queue, failures, failed_at, reason, opened_at, half_opens_at, is_half_open, probe)
VALUES (:queue, :failures, :failed_at, :reason, :opened_at, :half_opens_at, :is_half_open, :probe)
ON CONFLICT (queue) DO UPDATE
SET failures = EXCLUDED.failures, failed_at = EXCLUDED.failed_at, reason = EXCLUDED.reason,
    opened_at = EXCLUDED.opened_at, half_opens_at = EXCLUDED.half_opens_at, is_half_open = EXCLUDED.is_half_open,
    probe = EXCLUDED.probe
