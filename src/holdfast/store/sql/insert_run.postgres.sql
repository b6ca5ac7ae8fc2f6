INSERT INTO job_runs (
  id, job_id, attempt, session_id, worker_id, params_snapshot, started_at, trace_id, template_id
)
SELECT run_id, job_id, attempt, session_id, worker_id, payload, now, trace_id, template_id
FROM json_to_recordset(CAST(:rows AS json)) AS r (
  run_id TEXT, job_id TEXT, attempt BIGINT, session_id TEXT, worker_id TEXT, payload TEXT, now BIGINT, trace_id TEXT,
  template_id TEXT)
