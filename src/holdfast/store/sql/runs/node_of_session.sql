-- The machine of a session, whether anybody there can answer for it, and when it was last heard of.
SELECT s.node AS id, coalesce(n.name, s.node) AS name,
  (SELECT count(*) FROM sessions AS other
   WHERE other.node = s.node AND other.status = 'running' AND other.kind <> 'worker') AS answering,
  (SELECT max(other.last_heartbeat_at) FROM sessions AS other WHERE other.node = s.node) AS seen_at
FROM sessions AS s LEFT JOIN nodes AS n ON n.id = s.node WHERE s.id = :id
