-- With how the jobs of their operations ended, if they have.
SELECT @columns(w.workspace), j.state AS job_state, j.error_code AS job_error_code, j.finished_at AS job_ended_at,
  j.transient_tries AS job_tries
FROM workspaces AS w LEFT JOIN jobs AS j ON j.id = w.op_job_id
WHERE w.node = :node AND w.deleted_at IS NULL
ORDER BY w.number
