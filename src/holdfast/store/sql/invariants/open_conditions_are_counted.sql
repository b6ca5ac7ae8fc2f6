SELECT j.id, j.state, j.open_conditions, count(c.job_id) AS open_rows
FROM jobs AS j LEFT JOIN job_conditions AS c ON c.job_id = j.id AND c.satisfied_at IS NULL
WHERE j.state IN ('SCHEDULED', 'QUEUED', 'RUNNING')
GROUP BY j.id, j.state, j.open_conditions
HAVING j.open_conditions <> count(c.job_id) OR (j.state <> 'SCHEDULED' AND j.open_conditions <> 0)
