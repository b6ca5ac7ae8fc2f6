-- What the order of jobs depends on, by their numbers, newest first.
SELECT id, number, priority, position, created_at, group_id, group_seq, queue FROM jobs
WHERE number @in(:numbers BIGINT)
ORDER BY number DESC
