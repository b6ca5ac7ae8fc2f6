SELECT count(*) FROM jobs WHERE state = 'RUNNING' AND (CAST(:scope AS TEXT) = '*' OR queue = :scope)
