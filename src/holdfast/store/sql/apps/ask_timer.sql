-- If its app has an owner, who can do it.
UPDATE scheduled_jobs SET asked = :asked
WHERE id = :id AND retired_at IS NULL AND EXISTS (
  SELECT 1 FROM apps AS a
  WHERE a.app_key = scheduled_jobs.app_key AND a.instance_index = scheduled_jobs.instance_index AND a.status = 'running')
