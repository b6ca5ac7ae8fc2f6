SELECT node, is_idle, is_charging, detail, source, updated_at FROM machines WHERE node = :node
