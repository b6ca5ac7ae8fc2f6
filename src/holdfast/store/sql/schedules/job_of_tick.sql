SELECT id FROM jobs
WHERE schedule_id = :schedule_id AND fire_time = :fire_time AND schedule_id IS NOT NULL AND fire_time IS NOT NULL
  AND retry_of IS NULL
