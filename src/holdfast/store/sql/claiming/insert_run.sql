INSERT INTO job_runs (id, job_id, attempt, session_id, worker_id, params_snapshot, started_at, trace_id, template_id)
SELECT r.run_id, r.job_id, r.attempt, r.session_id, r.worker_id, r.payload, r.now, r.trace_id, r.template_id
@rows(r: run_id TEXT, job_id TEXT, attempt BIGINT, session_id TEXT, worker_id TEXT, payload TEXT, now BIGINT,
  trace_id TEXT, template_id TEXT)
