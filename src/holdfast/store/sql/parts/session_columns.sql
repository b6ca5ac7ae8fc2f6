-- A session `s` with the name of its machine `n`.
s.id, s.kind, coalesce(n.name, s.node) AS node, s.node AS node_id, s.host, s.boot_id, s.pid, s.lock_path, s.heartbeat,
s.last_heartbeat_at, s.stop_requested_at, s.runs_lost
