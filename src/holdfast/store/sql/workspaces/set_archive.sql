-- By an operation: the archive that counts.
UPDATE workspaces SET archive_key = :archive_key, updated_at = :now, generation = generation + 1 WHERE id = :id
