-- A run's job with what its settlement depends on.
SELECT @part(settled_columns), h.secret_hash
FROM job_runs AS r
JOIN jobs AS j ON j.id = r.job_id
LEFT JOIN sessions AS h ON h.id = r.session_id
LEFT JOIN subjects AS s ON s.job_type = j.job_type AND s.subject_key = j.subject_key
WHERE r.id = :run_id
