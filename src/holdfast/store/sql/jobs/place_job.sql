-- Whoever moves a job decides when its turn comes: nobody has passed it there yet.
UPDATE jobs SET priority = :priority, position = :position, tokens_since = NULL
WHERE id = :id AND state IN ('SCHEDULED', 'QUEUED')
