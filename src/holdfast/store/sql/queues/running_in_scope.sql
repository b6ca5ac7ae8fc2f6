SELECT count(*) FROM jobs WHERE state = 'RUNNING' AND state <> 'QUEUED' AND (CAST(:scope AS TEXT) = '*' OR queue = :scope)
