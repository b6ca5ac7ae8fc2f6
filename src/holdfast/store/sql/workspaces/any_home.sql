SELECT min(number) FROM workspaces WHERE node = :node AND deleted_at IS NULL AND home_ctx IS NOT NULL
