-- By an operation, before the program begins. The controller runs it when the process has ended.
UPDATE workspaces SET instance_ctx = :instance_ctx, port = :port, updated_at = :now, generation = generation + 1
WHERE id = :id
