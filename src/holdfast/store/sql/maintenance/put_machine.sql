INSERT INTO machines (node, is_idle, is_charging, detail, source, updated_at)
VALUES (:node, :is_idle, :is_charging, :detail, :source, :now)
@upsert(node: is_idle, is_charging, detail, source, updated_at)
