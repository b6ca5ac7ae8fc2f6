UPDATE jobs SET position = :position WHERE number = :number AND state IN ('SCHEDULED', 'QUEUED', 'RUNNING')
