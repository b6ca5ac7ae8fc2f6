-- A page of the members of a group as their last links, in the order in which they joined.
WITH RECURSIVE roots (number, id) AS (
  SELECT number, id FROM jobs
  WHERE group_id = :group_id AND number > :above
    AND (retry_of IS NULL OR NOT EXISTS (SELECT 1 FROM jobs AS before WHERE before.id = jobs.retry_of))
  ORDER BY number LIMIT :limit
), links (root, id) AS (
  SELECT number, id FROM roots
  UNION ALL
  SELECT links.root, jobs.id FROM links JOIN jobs ON jobs.retry_of = links.id AND jobs.retry_of IS NOT NULL
)
SELECT jobs.number, links.root
FROM links JOIN jobs ON jobs.id = links.id
WHERE NOT EXISTS (SELECT 1 FROM jobs AS link WHERE link.retry_of = jobs.id AND link.retry_of IS NOT NULL)
ORDER BY links.root
