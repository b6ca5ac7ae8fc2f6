-- A sign that a job waits to run with nothing beside it, or that one of these jobs runs so.
-- The order keeps the planner on the index of suspects.
SELECT coalesce(
  (SELECT is_suspect FROM jobs WHERE state = 'QUEUED' AND is_suspect = 1 ORDER BY queued_at, number LIMIT 1),
  (SELECT max(is_suspect) FROM jobs WHERE is_suspect = 1 AND id @in(:ids)))
