-- Every link of a retry chain from this one on.
WITH RECURSIVE chain (id) AS (
  SELECT id FROM jobs WHERE id = :id
  UNION ALL
  SELECT jobs.id FROM chain JOIN jobs ON jobs.retry_of = chain.id AND jobs.retry_of IS NOT NULL
)
SELECT id FROM chain
