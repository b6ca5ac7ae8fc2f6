-- By the API.
UPDATE workspaces SET desired_state = :desired_state, updated_at = :now WHERE id = :id AND deleted_at IS NULL
