-- The job that speaks for a retry chain: the last one in it.
WITH RECURSIVE chain (id, depth) AS (
  SELECT id, 0 FROM jobs WHERE id = :id
  UNION ALL
  SELECT jobs.id, chain.depth + 1 FROM chain JOIN jobs ON jobs.retry_of = chain.id AND jobs.retry_of IS NOT NULL
)
SELECT jobs.id, jobs.state, jobs.generation, jobs.number, jobs.queue
FROM chain JOIN jobs ON jobs.id = chain.id ORDER BY chain.depth DESC LIMIT 1
