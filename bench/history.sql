INSERT INTO jobs (id, queue, job_type, position, state, created_at, finished_at, payload)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
SELECT 'ended-' || i, 'default', 'noop', i * 100, CASE WHEN i % 10 = 0 THEN 'FAILED' ELSE 'DONE' END, :now, :now, '{}'
FROM n
