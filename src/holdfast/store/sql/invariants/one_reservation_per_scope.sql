-- '*' is everything and overlaps with each queue.
SELECT a.id, a.scope, b.id AS other_id, b.scope AS other_scope
FROM direct_reservations AS a
JOIN direct_reservations AS b ON b.id > a.id AND (a.scope = b.scope OR a.scope = '*' OR b.scope = '*')
WHERE a.status = 'ACTIVE' AND b.status = 'ACTIVE'
