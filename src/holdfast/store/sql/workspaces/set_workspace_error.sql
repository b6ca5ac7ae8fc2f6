-- By the controller. `recover` runs it to clear them.
UPDATE workspaces SET error_reason = :error_reason, error_count = :error_count, updated_at = :now,
  generation = generation + 1
WHERE id = :id
