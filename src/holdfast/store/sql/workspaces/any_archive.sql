SELECT min(number) FROM workspaces WHERE archive_key IS NOT NULL
