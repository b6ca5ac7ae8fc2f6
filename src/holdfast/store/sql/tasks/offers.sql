-- What every living worker offers, how much its session runs, and the suspect that it runs alone, if any.
SELECT w.id, w.session_id, s.node, coalesce(n.name, s.node) AS node_name, w.name, w.tasks, w.queues, w.slots,
  (SELECT count(*) FROM jobs WHERE jobs.state = 'RUNNING' AND jobs.session_id = w.session_id) AS running,
  (SELECT jobs.id FROM jobs
   WHERE jobs.state = 'RUNNING' AND jobs.session_id = w.session_id AND jobs.is_suspect = 1 LIMIT 1) AS runs_alone,
  s.pulls_at
FROM workers AS w JOIN sessions AS s ON s.id = w.session_id LEFT JOIN nodes AS n ON n.id = s.node
WHERE s.status = 'running' AND s.stop_requested_at IS NULL ORDER BY w.connected_at
