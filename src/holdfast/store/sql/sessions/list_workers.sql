-- Every worker whose session has not ended, what it offers and how much its session runs.
SELECT w.id, w.name, w.session_id, s.kind, coalesce(n.name, s.node) AS node, s.pid, w.tasks, w.queues, w.slots,
  (SELECT count(*) FROM jobs WHERE jobs.state = 'RUNNING' AND jobs.session_id = w.session_id) AS running,
  w.connected_at, s.last_heartbeat_at, s.stop_requested_at
FROM workers AS w JOIN sessions AS s ON s.id = w.session_id LEFT JOIN nodes AS n ON n.id = s.node
WHERE s.status = 'running' ORDER BY w.connected_at, w.id
