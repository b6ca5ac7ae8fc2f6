-- The template that was made for one schedule alone has its id, and goes with it.
UPDATE job_templates SET archived_at = :now, updated_at = :now
WHERE id = :id AND archived_at IS NULL AND NOT EXISTS (SELECT 1 FROM schedules AS s WHERE s.template_id = :id)
