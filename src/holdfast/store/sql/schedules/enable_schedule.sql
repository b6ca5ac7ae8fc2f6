UPDATE schedules
SET enabled = 1, disabled_reason = NULL, last_fire_time = :last_fire_time, next_trigger_at = :next_trigger_at,
    updated_at = :now
WHERE id = :id AND enabled = 0
