-- A run's job with what its settlement depends on.
SELECT j.id AS job_id, j.number, j.queue, j.job_type, j.state, j.run_id AS open_run_id, j.session_id, j.attempts,
  j.retry_mode, j.max_retries, j.max_infra, j.backoff_initial_ms, j.backoff_factor, j.backoff_cap_ms,
  j.transient_tries, j.infra_tries, j.deaths, j.is_suspect, j.stop_reason, j.deadline, j.generation, j.lane, j.trace_id,
  s.generation AS newest_generation, j.result_summary, r.id AS run_id, r.status AS run_status, r.error_kind AS run_error_kind, r.error_code AS run_error_code,
  r.error AS run_error, r.started_at AS run_started_at, r.pid AS run_pid, h.secret_hash
FROM job_runs AS r
JOIN jobs AS j ON j.id = r.job_id
LEFT JOIN sessions AS h ON h.id = r.session_id
LEFT JOIN subjects AS s ON s.job_type = j.job_type AND s.subject_key = j.subject_key
WHERE r.id = :run_id
