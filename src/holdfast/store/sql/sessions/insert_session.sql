INSERT INTO sessions (id, kind, status, node, host, boot_id, pid, lock_path, started_at, last_heartbeat_at, secret_hash)
VALUES (:id, :kind, 'running', :node, :host, :boot_id, :pid, :lock_path, :now, :now, :secret_hash)
ON CONFLICT (id) DO NOTHING
