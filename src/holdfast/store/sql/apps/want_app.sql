-- One that nobody has is stopped at once, or waits. One that failed is given back, so that it is tried again.
UPDATE apps SET wanted = :wanted,
  session_id = CASE WHEN :wanted = 'running' AND status = 'failed' THEN NULL ELSE session_id END,
  status = CASE
    WHEN :wanted = 'running' AND status IN ('failed', 'stopped') THEN 'waiting'
    WHEN :wanted = 'stopped' AND status = 'waiting' THEN 'stopped'
    ELSE status END
WHERE app_key = :app_key
