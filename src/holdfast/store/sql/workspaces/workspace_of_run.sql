-- The workspace for which an open run does an operation.
SELECT @columns(w.workspace)
FROM job_runs AS r JOIN workspaces AS w ON w.op_job_id = r.job_id
WHERE r.id = :run_id AND r.status IS NULL AND w.op_id = :op_id AND w.operation <> 'NONE' AND w.deleted_at IS NULL
