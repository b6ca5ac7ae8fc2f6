-- As in a list of jobs: of a snapshot of more than :most bytes, its size and its beginning.
SELECT
  id, job_id, attempt, status, session_id, worker_id, started_at, finished_at, duration_ms, error_kind, error_code,
  error, traceback, exit_code, pid, pid_started_at, trace_id, log_path, artifacts,
  CASE WHEN octet_length(params_snapshot) <= :most THEN params_snapshot END AS params_snapshot,
  octet_length(params_snapshot) AS params_snapshot_bytes,
  CASE WHEN octet_length(params_snapshot) > :most THEN substr(params_snapshot, 1, :head) END AS params_snapshot_head
FROM job_runs WHERE job_id = :job_id ORDER BY attempt
