-- A machine, whether anybody works on it, and when it was last heard of.
SELECT n.id, n.name,
  (SELECT count(*) FROM sessions AS s WHERE s.node = n.id AND s.status = 'running') AS is_alive,
  coalesce((SELECT max(s.last_heartbeat_at) FROM sessions AS s WHERE s.node = n.id), n.seen_at) AS seen_at
FROM nodes AS n WHERE n.number = :number
