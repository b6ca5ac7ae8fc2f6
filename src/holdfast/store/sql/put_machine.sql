INSERT INTO machines (node, is_idle, is_charging, detail, source, updated_at)
VALUES (:node, :is_idle, :is_charging, :detail, :source, :now)
ON CONFLICT (node) DO UPDATE SET
  is_idle = excluded.is_idle, is_charging = excluded.is_charging, detail = excluded.detail,
  source = excluded.source, updated_at = excluded.updated_at
