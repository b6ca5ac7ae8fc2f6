SELECT min(position) FROM jobs WHERE state = 'QUEUED' AND queue = :queue AND priority = :priority
