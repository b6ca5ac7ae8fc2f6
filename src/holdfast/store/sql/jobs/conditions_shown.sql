-- What a job waits for or has waited for, each with the event that made it true.
SELECT c.key, c.value, c.satisfied_at, c.satisfied_by, e.name AS event_name
FROM job_conditions AS c LEFT JOIN events AS e ON e.id = c.satisfied_by
WHERE c.job_id = :job_id ORDER BY c.key
