-- The statement of the API, which the controller runs when nothing of it is left.
UPDATE workspaces SET deleted_at = :now, updated_at = :now, generation = generation + 1 WHERE id = :id
