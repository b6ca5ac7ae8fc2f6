SELECT j.id, j.session_id, s.status
FROM jobs AS j LEFT JOIN sessions AS s ON s.id = j.session_id
WHERE j.state = 'RUNNING' AND (s.id IS NULL OR s.status <> 'running')
