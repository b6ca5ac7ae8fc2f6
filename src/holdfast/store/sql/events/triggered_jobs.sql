-- The jobs that an event let go.
SELECT j.id AS job_id, j.number, j.state FROM job_conditions AS c JOIN jobs AS j ON j.id = c.job_id
WHERE c.satisfied_by = :event_id AND c.key = 'event' ORDER BY j.number LIMIT :limit
