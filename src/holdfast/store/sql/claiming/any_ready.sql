-- Whether a queue has a job that is ready.
SELECT 1 FROM jobs WHERE state = 'QUEUED' AND queue = :queue LIMIT 1
