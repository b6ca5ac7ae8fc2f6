-- A scheduled job has a time or a condition; otherwise nothing would ever move it.
SELECT id, scheduled_at, open_conditions FROM jobs
WHERE state = 'SCHEDULED' AND scheduled_at IS NULL AND open_conditions = 0
