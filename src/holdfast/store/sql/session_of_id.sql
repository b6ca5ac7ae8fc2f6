SELECT id, kind, node, boot_id, pid, lock_path, heartbeat, last_heartbeat_at, stop_requested_at, runs_lost
FROM sessions WHERE id = :id AND status = 'running'
