-- While nobody has its app, no timer is due.
UPDATE scheduled_jobs SET next_run_at = NULL
WHERE next_run_at IS NOT NULL AND EXISTS (
  SELECT 1 FROM apps AS a
  WHERE a.app_key = scheduled_jobs.app_key AND a.instance_index = scheduled_jobs.instance_index
    AND a.session_id = :session_id AND (CAST(:app_key AS TEXT) IS NULL OR a.app_key = :app_key))
