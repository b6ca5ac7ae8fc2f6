-- A process that finds the ticks settled up to another moment than it read was not the first. Then nothing fires.
UPDATE schedules
SET last_fire_time = :settled_until, next_trigger_at = :next_trigger_at, fires = fires + :fires,
    last_triggered_at = CASE WHEN :fires > 0 THEN :now ELSE last_triggered_at END
WHERE id = :id AND enabled = 1 AND last_fire_time IS NOT DISTINCT FROM :seen
