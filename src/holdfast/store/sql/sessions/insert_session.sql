INSERT INTO sessions (id, kind, status, node, host, boot_id, pid, lock_path, started_at, last_heartbeat_at, secret_hash, number)
VALUES (:id, :kind, 'running', :node, :host, :boot_id, :pid, :lock_path, :now, :now, :secret_hash,
  (SELECT coalesce(max(number), 0) + 1 FROM sessions))
ON CONFLICT (id) DO NOTHING
