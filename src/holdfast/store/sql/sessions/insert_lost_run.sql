-- A job that is RUNNING without a run gets the run it should have had, already failed.
INSERT INTO job_runs (
  id, job_id, attempt, status, session_id, params_snapshot, started_at, finished_at, error_kind, error_code, error
)
SELECT :run_id, id, 1 + coalesce((SELECT max(attempt) FROM job_runs WHERE job_id = jobs.id), 0), 'FAILED', session_id,
  payload, coalesce(started_at, created_at), :now, 'infra', :error_code, :error
FROM jobs WHERE id = :job_id
