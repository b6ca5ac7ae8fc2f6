-- Newest first, below a number.
SELECT s.id, s.number, s.kind, s.status, coalesce(n.name, s.node) AS node, s.pid, s.started_at, s.last_heartbeat_at,
  s.stopped_at, s.runs_lost, s.rows_dropped, s.error_type, s.error_message, s.error_traceback
FROM sessions AS s LEFT JOIN nodes AS n ON n.id = s.node
WHERE s.status <> 'running' AND s.number < :below AND (CAST(:since AS BIGINT) IS NULL OR s.stopped_at >= :since)
ORDER BY s.number DESC LIMIT :limit
