UPDATE jobs SET position = :position WHERE number = :number AND state = 'QUEUED'
