-- An app that starts or runs, or failed, belongs to a session that has not ended; all others to none.
SELECT app_key, status, session_id FROM apps
WHERE (status IN ('waiting', 'stopped')) <> (session_id IS NULL)
   OR (session_id IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = apps.session_id AND s.status = 'running'))
