SELECT j.id, j.subject_key, j.generation, s.generation AS newest
FROM jobs AS j LEFT JOIN subjects AS s ON s.job_type = j.job_type AND s.subject_key = j.subject_key
WHERE j.subject_key IS NOT NULL AND (s.generation IS NULL OR s.generation < j.generation)
