-- Waiting jobs that are tied to a machine, at most so many.
SELECT number, queue FROM jobs
WHERE node = :node AND node > 0 AND state IN ('SCHEDULED', 'QUEUED') ORDER BY state, number LIMIT :limit
