-- With how the jobs of their operations ended, if they have.
SELECT @columns(w.workspace), j.state AS job_state, j.error_code AS job_error_code, j.finished_at AS job_ended_at,
  j.transient_tries AS job_tries,
  (SELECT taken_at FROM controllers AS c WHERE c.node = w.node) AS controlled_since,
  (SELECT noted_at FROM clock_steps WHERE number = (SELECT max(number) FROM clock_steps)) AS clock_set_at
FROM workspaces AS w LEFT JOIN jobs AS j ON j.id = w.op_job_id
WHERE w.node = :node AND w.deleted_at IS NULL
ORDER BY w.number
