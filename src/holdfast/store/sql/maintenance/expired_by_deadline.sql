SELECT id FROM jobs
WHERE state IN ('SCHEDULED', 'QUEUED') AND deadline IS NOT NULL AND deadline <= :now
ORDER BY deadline, number LIMIT :limit
