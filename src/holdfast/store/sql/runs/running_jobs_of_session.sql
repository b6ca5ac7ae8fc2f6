-- What a session is running, with what its settlement depends on; the run may be missing or closed.
SELECT @part(settled_columns)
FROM jobs AS j
LEFT JOIN job_runs AS r ON r.id = j.run_id
LEFT JOIN subjects AS s ON s.job_type = j.job_type AND s.subject_key = j.subject_key
WHERE j.state = 'RUNNING' AND j.session_id = :session_id
ORDER BY j.number LIMIT :limit
