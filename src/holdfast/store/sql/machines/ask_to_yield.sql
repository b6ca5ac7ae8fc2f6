-- Open runs on a machine whose queues are held back there; the system's own queues are light.
UPDATE job_runs
SET yield_asked_at = :now
WHERE status IS NULL AND yield_asked_at IS NULL AND id IN (
  SELECT j.run_id
  FROM sessions AS s
  JOIN jobs AS j ON j.session_id = s.id
  LEFT JOIN queues AS q ON q.name = j.queue
  WHERE s.node = :node AND s.status = 'running' AND j.state = 'RUNNING'
    AND NOT @part(system_queue)
    AND (q.burden = 'heavy' OR (:holds > 1 AND coalesce(q.burden, 'normal') = 'normal')))
