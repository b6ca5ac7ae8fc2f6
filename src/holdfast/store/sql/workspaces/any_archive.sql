SELECT min(number) FROM workspaces WHERE node = :node AND archive_key IS NOT NULL
