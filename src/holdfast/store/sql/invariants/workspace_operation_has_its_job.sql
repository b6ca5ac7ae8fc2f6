-- A job of the queue of workspaces that has not ended does the operation that its workspace says.
SELECT j.number FROM jobs AS j
WHERE j.queue = 'holdfast.workspaces' AND j.finished_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM workspaces AS w WHERE w.op_job_id = j.id AND w.operation <> 'NONE')
