UPDATE webhooks SET is_enabled = :is_enabled, disabled_reason = :reason, updated_at = :now WHERE id = :id
