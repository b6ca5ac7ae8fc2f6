-- The queues of what a session is running, how many of each, and the one among them that probes.
SELECT j.queue, count(*) AS runs, max(CASE WHEN b.probe = j.id THEN j.id END) AS probe
FROM jobs AS j LEFT JOIN queue_breakers AS b ON b.queue = j.queue
WHERE j.state = 'RUNNING' AND j.session_id = :session_id
GROUP BY j.queue ORDER BY j.queue
