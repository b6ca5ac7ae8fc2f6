-- How far the clock was set in all, and whether jobs are still being moved for that.
SELECT coalesce((SELECT total_ms FROM clock_steps ORDER BY number DESC LIMIT 1), 0) AS total_ms,
  EXISTS (SELECT 1 FROM clock_steps WHERE ended_at IS NULL) AS is_moving
