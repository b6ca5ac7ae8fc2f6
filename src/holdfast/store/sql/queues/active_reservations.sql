SELECT @part(reservation_columns)
FROM direct_reservations WHERE status = 'ACTIVE' ORDER BY reserved_at, id
