@part(workspaces_named)
WHERE w.id = :id
