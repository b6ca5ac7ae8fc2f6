-- By an operation: the home that counts. `recover` runs it to give up one that is gone.
UPDATE workspaces SET home_ctx = :home_ctx, updated_at = :now, generation = generation + 1 WHERE id = :id
