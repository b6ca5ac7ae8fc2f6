SELECT 1 AS is_there, s.secret_hash FROM job_runs AS r JOIN sessions AS s ON s.id = r.session_id WHERE r.id = :id
