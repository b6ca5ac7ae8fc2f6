@part(workspaces_named)
WHERE w.deleted_at IS NULL
ORDER BY w.name
