-- Waiting jobs that are tied to a machine, at most so many.
SELECT number, queue FROM jobs
WHERE lane >= 32 * :node AND lane < 32 * :node + 32 AND node > 0 AND state IN ('SCHEDULED', 'QUEUED')
ORDER BY state, lane, number LIMIT :limit
