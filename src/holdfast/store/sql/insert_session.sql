INSERT INTO sessions (id, kind, status, node, host, boot_id, pid, lock_path, started_at, last_heartbeat_at)
VALUES (:id, :kind, 'running', :node, :host, :boot_id, :pid, :lock_path, :now, :now)
ON CONFLICT (id) DO NOTHING
