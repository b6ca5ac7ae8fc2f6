-- Those with a tick that has come, and those that are ahead of the clock by more than a right clock can explain.
SELECT s.*, t.name AS template FROM schedules AS s JOIN job_templates AS t ON t.id = s.template_id
WHERE s.enabled = 1 AND (s.next_trigger_at <= :now OR s.last_fire_time > :far_ahead)
ORDER BY s.next_trigger_at, s.id LIMIT :limit
