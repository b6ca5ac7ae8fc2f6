-- Who stands in line, the first one first.
SELECT @part(reservation_columns)
FROM direct_reservations WHERE status = 'WAITING' ORDER BY reserved_at, id
