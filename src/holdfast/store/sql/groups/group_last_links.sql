-- The last link of each member of a group, in the order in which the members joined.
WITH RECURSIVE links (root, id) AS (
  SELECT number, id FROM jobs
  WHERE group_id = :group_id
    AND (retry_of IS NULL OR NOT EXISTS (SELECT 1 FROM jobs AS before WHERE before.id = jobs.retry_of))
  UNION ALL
  SELECT links.root, jobs.id FROM links JOIN jobs ON jobs.retry_of = links.id AND jobs.retry_of IS NOT NULL
)
SELECT jobs.id, jobs.state, coalesce(jobs.progress, 0) AS progress
FROM links JOIN jobs ON jobs.id = links.id
WHERE NOT EXISTS (SELECT 1 FROM jobs AS link WHERE link.retry_of = jobs.id AND link.retry_of IS NOT NULL)
ORDER BY links.root
