UPDATE job_templates SET archived_at = :now, updated_at = :now WHERE id = :id AND archived_at IS NULL
