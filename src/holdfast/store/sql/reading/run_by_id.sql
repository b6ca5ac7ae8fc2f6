SELECT r.*, coalesce(n.name, s.node) AS node
FROM job_runs AS r LEFT JOIN sessions AS s ON s.id = r.session_id LEFT JOIN nodes AS n ON n.id = s.node
WHERE r.id = :id
