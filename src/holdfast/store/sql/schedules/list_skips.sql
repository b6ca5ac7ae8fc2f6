-- Of one schedule, or of all.
SELECT schedule_id, reason, ticks, last_fire_time FROM schedule_skips
WHERE schedule_id = coalesce(:schedule_id, schedule_id) ORDER BY schedule_id, reason
