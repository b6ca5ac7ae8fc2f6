INSERT INTO schedules (
  id, template_id, name, cron_expression, timezone, param_overrides, misfire, overlap, jitter_ms, last_fire_time,
  next_trigger_at, origin, owner, created_at, updated_at
) VALUES (
  :id, :template_id, :name, :cron_expression, :timezone, :param_overrides, :misfire, :overlap, :jitter_ms,
  :last_fire_time, :next_trigger_at, :origin, :owner, :now, :now
)
