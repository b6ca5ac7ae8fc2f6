-- The names of those that are or shall be RUNNING, of one owner or of all.
SELECT name FROM workspaces
WHERE deleted_at IS NULL AND (phase = 'RUNNING' OR desired_state = 'RUNNING')
  AND owner_user_id = coalesce(:owner_user_id, owner_user_id) AND id <> :besides
ORDER BY number
