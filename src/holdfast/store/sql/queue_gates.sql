-- What decides whether a queue may start anything now.
SELECT
  (SELECT paused_at FROM queues WHERE name = :queue) AS paused_at,
  (SELECT concurrency FROM queues WHERE name = :queue) AS concurrency,
  (SELECT count(*) FROM jobs WHERE state = 'RUNNING' AND state <> 'QUEUED' AND queue = :queue) AS running,
  (SELECT id FROM direct_reservations WHERE status = 'ACTIVE' AND scope IN ('*', :queue) LIMIT 1) AS reservation
