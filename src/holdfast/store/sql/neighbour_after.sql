SELECT position FROM jobs
WHERE state = 'QUEUED' AND queue = :queue AND priority = :priority AND position > :position
ORDER BY position LIMIT 1
