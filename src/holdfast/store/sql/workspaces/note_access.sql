-- By the API: somebody uses it. That is written at most once a minute.
UPDATE workspaces SET last_access_at = :now, updated_at = :now
WHERE id = :id AND deleted_at IS NULL AND coalesce(last_access_at, 0) <= :before
