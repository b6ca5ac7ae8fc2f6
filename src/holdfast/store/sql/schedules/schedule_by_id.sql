SELECT s.*, t.name AS template FROM schedules AS s JOIN job_templates AS t ON t.id = s.template_id WHERE s.id = :id
