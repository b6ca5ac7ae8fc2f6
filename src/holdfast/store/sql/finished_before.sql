-- What retention may remove: ended, old, and not a link of a chain that still goes on.
SELECT id FROM jobs
WHERE finished_at IS NOT NULL AND finished_at < :before
  AND NOT EXISTS (
    SELECT 1 FROM jobs AS link
    WHERE link.retry_of = jobs.id AND link.retry_of IS NOT NULL AND (link.finished_at IS NULL OR link.finished_at >= :before))
ORDER BY finished_at LIMIT :limit
