-- A workspace that is RUNNING has a home that counts.
SELECT name FROM workspaces WHERE phase = 'RUNNING' AND home_ctx IS NULL AND deleted_at IS NULL
