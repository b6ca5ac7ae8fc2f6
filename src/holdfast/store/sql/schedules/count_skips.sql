INSERT INTO schedule_skips (schedule_id, reason, ticks, last_fire_time)
VALUES (:schedule_id, :reason, :ticks, :last_fire_time)
ON CONFLICT (schedule_id, reason) DO UPDATE
SET ticks = schedule_skips.ticks + excluded.ticks, last_fire_time = excluded.last_fire_time
