-- What retention may remove: ended, old, and not a link of a chain that still goes on or ended lately.
SELECT id FROM jobs
WHERE finished_at IS NOT NULL AND finished_at < :before
  AND NOT EXISTS (
    WITH RECURSIVE chain (id, finished_at) AS (
      SELECT link.id, link.finished_at FROM jobs AS link WHERE link.retry_of = jobs.id AND link.retry_of IS NOT NULL
      UNION ALL
      SELECT link.id, link.finished_at FROM chain JOIN jobs AS link ON link.retry_of = chain.id AND link.retry_of IS NOT NULL
    )
    SELECT 1 FROM chain WHERE finished_at IS NULL OR finished_at >= :before)
ORDER BY finished_at, number LIMIT :limit
