SELECT j.id, j.subject_key, j.generation, s.generation AS newest
FROM jobs AS j JOIN subjects AS s ON s.job_type = j.job_type AND s.subject_key = j.subject_key
WHERE j.state IN ('SCHEDULED', 'QUEUED') AND j.generation < s.generation
