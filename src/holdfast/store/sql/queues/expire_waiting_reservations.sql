-- Those in line whose patience is at its end.
UPDATE direct_reservations SET status = 'EXPIRED', ended_at = :now WHERE status = 'WAITING' AND expires_at <= :now
RETURNING id, scope, reserved_by
