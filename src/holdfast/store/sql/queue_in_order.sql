SELECT number FROM jobs WHERE state = 'QUEUED' AND queue = :queue AND priority = :priority
ORDER BY priority DESC, position, created_at, id
