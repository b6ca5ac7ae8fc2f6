SELECT id, state, finished_at FROM jobs
WHERE (finished_at IS NOT NULL) <> (state NOT IN ('SCHEDULED', 'QUEUED', 'RUNNING'))
