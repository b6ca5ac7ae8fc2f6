SELECT min(number) FROM workspaces WHERE node = :node AND deleted_at IS NULL
