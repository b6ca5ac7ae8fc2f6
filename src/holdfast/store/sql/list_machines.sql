SELECT coalesce(n.name, m.node) AS node, m.node AS node_id, is_idle, is_charging, detail, source, updated_at, holds,
  pull_interval_ms, pressure, refuses, refuses_until
FROM machines AS m LEFT JOIN nodes AS n ON n.id = m.node ORDER BY 1
