UPDATE schedules SET enabled = 0, disabled_reason = :reason, next_trigger_at = NULL, updated_at = :now
WHERE template_id = :template_id AND enabled = 1
RETURNING id, name
