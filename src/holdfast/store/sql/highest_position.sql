-- The last place in a queue at one priority.
SELECT max(position) FROM jobs WHERE state = 'QUEUED' AND queue = :queue AND priority = :priority
