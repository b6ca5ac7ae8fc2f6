-- What a job was triggered by, the event that let it go, and the link of its retry chain before it.
SELECT j.trigger, j.retry_of, c.satisfied_by AS event_id, COALESCE(e.name, j.wait_for_event) AS event_name
FROM jobs AS j
LEFT JOIN job_conditions AS c ON c.job_id = j.id AND c.key = 'event' AND c.satisfied_by IS NOT NULL
LEFT JOIN events AS e ON e.id = c.satisfied_by
WHERE j.id = :id
