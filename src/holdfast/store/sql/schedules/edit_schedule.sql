UPDATE schedules
SET template_id = :template_id, name = :name, cron_expression = :cron_expression, timezone = :timezone,
    param_overrides = :param_overrides, misfire = :misfire, overlap = :overlap, jitter_ms = :jitter_ms,
    last_fire_time = :last_fire_time, next_trigger_at = :next_trigger_at, origin = :origin, owner = :owner,
    updated_at = :now
WHERE id = :id
