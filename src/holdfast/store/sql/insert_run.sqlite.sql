INSERT INTO job_runs (
  id, job_id, attempt, session_id, worker_id, params_snapshot, started_at, trace_id, template_id
) VALUES (
  :run_id, :job_id, :attempt, :session_id, :worker_id, :payload, :now, :trace_id, :template_id
)
