-- The jobs that this one was enqueued to run after, each as its last link, in the order in which they were enqueued.
-- The conditions stand with the first link of a retry chain, and may name any link of the jobs that were waited for.
WITH RECURSIVE mine (id, retry_of) AS (
  SELECT id, retry_of FROM jobs WHERE id = :job_id
  UNION ALL
  SELECT jobs.id, jobs.retry_of FROM mine JOIN jobs ON jobs.id = mine.retry_of
), awaited (id) AS (
  SELECT substr(c.key, 7) FROM mine CROSS JOIN job_conditions AS c
  WHERE c.job_id = mine.id AND c.key >= 'after:' AND c.key < 'afterA'
), back (id, retry_of, number) AS (
  SELECT jobs.id, jobs.retry_of, jobs.number FROM awaited JOIN jobs ON jobs.id = awaited.id
  UNION
  SELECT jobs.id, jobs.retry_of, jobs.number FROM back JOIN jobs ON jobs.id = back.retry_of
), links (root, id) AS (
  SELECT number, id FROM back
  WHERE retry_of IS NULL OR NOT EXISTS (SELECT 1 FROM jobs AS before WHERE before.id = back.retry_of)
  UNION ALL
  SELECT links.root, jobs.id FROM links JOIN jobs ON jobs.retry_of = links.id AND jobs.retry_of IS NOT NULL
)
SELECT jobs.id, jobs.number, jobs.job_type AS task, jobs.state, jobs.result_summary
FROM links JOIN jobs ON jobs.id = links.id
WHERE NOT EXISTS (SELECT 1 FROM jobs AS link WHERE link.retry_of = jobs.id AND link.retry_of IS NOT NULL)
ORDER BY links.root
