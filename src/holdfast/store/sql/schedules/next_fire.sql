-- When the next tick comes; 0 if a schedule is ahead of the clock by more than a right clock can explain.
SELECT min(moment) FROM (
  SELECT min(next_trigger_at) AS moment FROM schedules WHERE enabled = 1
  UNION ALL
  SELECT CASE WHEN max(last_fire_time) > :far_ahead THEN 0 END FROM schedules WHERE enabled = 1
) AS moments
