-- By the controller: the operation that begins, or NONE.
UPDATE workspaces SET operation = :operation, op_started_at = :op_started_at, op_id = :op_id, op_job_id = :op_job_id,
  updated_at = :now, generation = generation + 1
WHERE id = :id
