UPDATE sessions SET stop_requested_at = :now WHERE id = :id AND status = 'running' AND stop_requested_at IS NULL
