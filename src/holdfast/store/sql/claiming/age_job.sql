-- Others have passed it for too long: its priority grows a little, once.
UPDATE jobs SET priority = :priority, position = :position, has_aged = 1
WHERE number = :number AND state = 'QUEUED' AND has_aged = 0
