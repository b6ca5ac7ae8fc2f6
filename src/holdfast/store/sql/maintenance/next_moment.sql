-- When the clock alone will next change a job, or free a queue, or an event has somebody to reach.
SELECT min(moment) FROM (
  SELECT min(scheduled_at) AS moment FROM jobs
  WHERE state = 'SCHEDULED' AND open_conditions = 0 AND scheduled_at IS NOT NULL
  UNION ALL
  SELECT min(queued_at + ttl_ms) FROM jobs WHERE state = 'QUEUED' AND ttl_ms IS NOT NULL
  UNION ALL
  SELECT min(deadline) FROM jobs WHERE state IN ('SCHEDULED', 'QUEUED') AND deadline IS NOT NULL
  UNION ALL
  SELECT min(expires_at) FROM direct_reservations WHERE status = 'ACTIVE'
  UNION ALL
  SELECT min(expires_at) FROM direct_reservations WHERE status = 'WAITING'
  UNION ALL
  SELECT min(opens_at) FROM queues WHERE opens_at IS NOT NULL
  UNION ALL
  SELECT min(half_opens_at) FROM queue_breakers WHERE half_opens_at IS NOT NULL AND is_half_open = 0
  UNION ALL
  SELECT min(pulls_at) FROM sessions WHERE pulls_at IS NOT NULL
  UNION ALL
  SELECT CASE WHEN EXISTS (SELECT 1 FROM events WHERE is_spreading = 1) THEN 0 END
) AS moments
