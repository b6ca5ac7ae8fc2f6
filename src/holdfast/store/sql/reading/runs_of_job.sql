-- As in a list of jobs: of a snapshot of more than :most bytes, its size and its beginning.
SELECT
  r.id, job_id, attempt, r.status, session_id, worker_id, r.started_at, finished_at, duration_ms, error_kind, error_code,
  error, traceback, exit_code, r.pid, pid_started_at, trace_id, log_path, artifacts, template_id,
  CASE WHEN octet_length(params_snapshot) <= :most THEN params_snapshot END AS params_snapshot,
  octet_length(params_snapshot) AS params_snapshot_bytes,
  CASE WHEN octet_length(params_snapshot) > :most THEN substr(params_snapshot, 1, :head) END AS params_snapshot_head,
  coalesce(n.name, s.node) AS node
FROM job_runs AS r LEFT JOIN sessions AS s ON s.id = r.session_id LEFT JOIN nodes AS n ON n.id = s.node
WHERE job_id = :job_id ORDER BY attempt
