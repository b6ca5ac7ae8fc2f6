SELECT * FROM events WHERE number @in(:numbers BIGINT) ORDER BY number
