-- What the machine of a session is, and what it has; nobody has looked yet, or decided: then it is nothing of that.
SELECT s.node, coalesce(n.number, 0) AS number, coalesce(m.is_idle, 0) AS is_idle, coalesce(m.is_charging, 0) AS is_charging,
  coalesce(t.cpu, 0) AS cpu, coalesce(t.gpu, 0) AS gpu, coalesce(t.io, 0) AS io, coalesce(t.timeout_ms, 0) AS timeout_ms
FROM sessions AS s LEFT JOIN nodes AS n ON n.id = s.node LEFT JOIN machines AS m ON m.node = s.node LEFT JOIN node_tokens AS t ON t.node = s.node
WHERE s.id = :session_id
