UPDATE jobs SET priority = :priority, position = :position
WHERE id = :id AND state IN ('SCHEDULED', 'QUEUED')
