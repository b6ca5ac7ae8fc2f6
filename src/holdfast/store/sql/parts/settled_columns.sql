-- What the settlement of a run `r` of a job `j` with the newest generation `s` of its subject depends on.
j.id AS job_id, j.number, j.queue, j.job_type, j.state, j.run_id AS open_run_id, j.session_id, j.attempts,
j.retry_mode, j.max_retries, j.max_infra, j.backoff_initial_ms, j.backoff_factor, j.backoff_cap_ms,
j.transient_tries, j.infra_tries, j.deaths, j.is_suspect, j.stop_reason, j.deadline, j.generation, j.lane, j.trace_id,
s.generation AS newest_generation, j.result_summary, r.id AS run_id, r.status AS run_status, r.error_kind AS run_error_kind,
r.error_code AS run_error_code, r.error AS run_error, r.started_at AS run_started_at, r.pid AS run_pid
