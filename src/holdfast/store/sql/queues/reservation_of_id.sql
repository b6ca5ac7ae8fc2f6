SELECT @part(reservation_columns)
FROM direct_reservations WHERE id = :id
