-- By the API.
UPDATE workspaces SET name = :name, description = :description, memo = :memo, command = :command, env = :env,
  standby_ttl_seconds = :standby_ttl_seconds, archive_ttl_seconds = :archive_ttl_seconds, updated_at = :now
WHERE id = :id AND deleted_at IS NULL
