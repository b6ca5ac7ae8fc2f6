UPDATE direct_reservations SET granted_at = :now, expires_at = :expires_at
WHERE id = :id AND status = 'ACTIVE' AND granted_at IS NULL
