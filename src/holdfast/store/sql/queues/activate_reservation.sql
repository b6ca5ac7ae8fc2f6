UPDATE direct_reservations SET status = 'ACTIVE', expires_at = :expires_at WHERE id = :id AND status = 'WAITING'
