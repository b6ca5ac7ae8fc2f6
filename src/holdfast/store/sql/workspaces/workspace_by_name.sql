@part(workspaces_named)
WHERE w.name = :name AND w.deleted_at IS NULL
