-- By the owner of its app, unless something else is asked by now.
UPDATE scheduled_jobs SET asked = NULL
WHERE app_key = :app_key AND instance_index = :instance_index AND job_name = :job_name AND asked = :asked
  AND EXISTS (
    SELECT 1 FROM apps AS a
    WHERE a.app_key = :app_key AND a.instance_index = :instance_index AND a.session_id = :session_id)
