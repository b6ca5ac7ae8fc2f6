-- What decides whether a queue may start anything now.
SELECT
  q.paused_at, q.concurrency, q.rate_limit, q.rate_window_ms, q.opens_at, b.opened_at, b.half_opens_at,
  (SELECT count(*) FROM jobs WHERE state = 'RUNNING' AND state <> 'QUEUED' AND queue = :queue) AS running,
  (SELECT id FROM direct_reservations WHERE status = 'ACTIVE' AND scope IN ('*', :queue) LIMIT 1) AS reservation,
  (SELECT 1 FROM jobs WHERE id = b.probe AND state = 'RUNNING') AS is_probing
FROM (SELECT 1 AS one) AS asked LEFT JOIN queues AS q ON q.name = :queue
  LEFT JOIN queue_breakers AS b ON b.queue = :queue
