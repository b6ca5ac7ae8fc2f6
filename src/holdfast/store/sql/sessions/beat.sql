UPDATE sessions SET heartbeat = heartbeat + 1, last_heartbeat_at = :now
WHERE id = :id AND status = 'running' AND secret_hash IS NOT DISTINCT FROM :secret_hash
