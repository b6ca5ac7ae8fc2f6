UPDATE direct_reservations SET status = 'EXPIRED', ended_at = :now WHERE status = 'ACTIVE' AND expires_at <= :now
RETURNING id, scope, reserved_by
