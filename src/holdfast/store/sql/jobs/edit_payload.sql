UPDATE jobs SET payload = :payload WHERE id = :id AND state IN ('SCHEDULED', 'QUEUED')
