SELECT schedule_id, fire_time, count(*) AS jobs FROM jobs
WHERE schedule_id IS NOT NULL AND fire_time IS NOT NULL AND retry_of IS NULL
GROUP BY schedule_id, fire_time HAVING count(*) > 1
