SELECT s.*, t.name AS template FROM schedules AS s JOIN job_templates AS t ON t.id = s.template_id
WHERE s.origin = 'code' AND s.enabled = 1
ORDER BY s.name
