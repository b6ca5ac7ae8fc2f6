-- Of a sequential group that goes on, the member whose turn comes last; each waits for the one before it.
WITH RECURSIVE chain (id, depth) AS (
  SELECT id, 0 FROM (
    SELECT id FROM jobs WHERE group_id = :group_id AND group_id IS NOT NULL AND finished_at IS NULL
    ORDER BY number DESC LIMIT 1) AS newest
  UNION ALL
  SELECT j.id, chain.depth + 1
  FROM chain
  CROSS JOIN job_conditions AS c
  CROSS JOIN jobs AS j
  WHERE c.key = 'group:' || chain.id AND c.satisfied_at IS NULL AND j.id = c.job_id AND j.state = 'SCHEDULED'
)
SELECT id FROM chain ORDER BY depth DESC LIMIT 1
