-- A sign that others may be held back for the sake of a job: one that runs alone waits, or one that found no tokens.
-- The order keeps the planner on the index of suspects.
SELECT coalesce(
  (SELECT is_suspect FROM jobs WHERE state = 'QUEUED' AND is_suspect = 1 ORDER BY queued_at, number LIMIT 1),
  (SELECT min(tokens_since) FROM jobs WHERE state = 'QUEUED' AND tokens_since IS NOT NULL))
