INSERT INTO queues (name, paused_at, pause_reason) VALUES (:name, :paused_at, :reason)
ON CONFLICT (name) DO UPDATE SET paused_at = EXCLUDED.paused_at, pause_reason = EXCLUDED.pause_reason
