UPDATE jobs SET tokens_since = :now WHERE number = :number AND state = 'QUEUED'
