-- A schedule that is enabled waits for a tick behind those that are settled, and has a template that is in use; one
-- that is not enabled has a reason.
SELECT s.id, s.enabled, s.disabled_reason, s.last_fire_time, s.next_trigger_at, t.archived_at
FROM schedules AS s JOIN job_templates AS t ON t.id = s.template_id
WHERE (s.enabled = 1 AND (s.disabled_reason IS NOT NULL OR s.next_trigger_at <= s.last_fire_time OR t.archived_at IS NOT NULL))
  OR (s.enabled = 0 AND (s.disabled_reason IS NULL OR s.next_trigger_at IS NOT NULL))
