SELECT node, is_idle, is_charging, detail, source, updated_at, holds, pull_interval_ms, pressure, refuses, refuses_until
FROM machines ORDER BY node
