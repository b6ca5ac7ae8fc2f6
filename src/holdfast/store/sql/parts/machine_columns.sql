-- What is known of a machine `m`, whose name is that of `n`.
coalesce(n.name, m.node) AS node, m.node AS node_id, is_idle, is_charging, detail, source, updated_at, holds,
pull_interval_ms, pressure, refuses, refuses_until
