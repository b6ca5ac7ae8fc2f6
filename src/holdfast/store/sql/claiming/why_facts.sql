-- What the gates of one job depend on, beside the job itself and what queue_gates tells of its queue.
SELECT
  q.pause_reason,
  (SELECT busy.id FROM jobs AS busy
   WHERE busy.state = 'RUNNING' AND busy.job_type = j.job_type AND busy.subject_key = j.subject_key
     AND busy.subject_key IS NOT NULL) AS busy_with,
  j.is_suspect, j.node,
  -- Its time is over, but whoever made it still lives and has not given it back.
  (SELECT r.id FROM sessions AS s CROSS JOIN direct_reservations AS r
   WHERE r.session_id = s.id AND s.status = 'running' AND r.status = 'EXPIRED' AND r.granted_at IS NOT NULL AND r.scope IN ('*', j.queue)
   ORDER BY r.ended_at DESC LIMIT 1) AS ran_out
FROM jobs AS j LEFT JOIN queues AS q ON q.name = j.queue
WHERE j.id = :id
