SELECT id, state FROM jobs
WHERE group_id = :group_id
  AND NOT EXISTS (SELECT 1 FROM jobs AS link WHERE link.retry_of = jobs.id AND link.retry_of IS NOT NULL)
ORDER BY number
