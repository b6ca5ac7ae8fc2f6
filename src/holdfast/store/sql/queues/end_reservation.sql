UPDATE direct_reservations SET status = :status, ended_at = :now WHERE id = :id AND status IN ('ACTIVE', 'WAITING')
