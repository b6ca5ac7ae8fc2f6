-- A sign that others may be held back for the sake of a job: one that runs alone waits, or one that found no tokens.
SELECT coalesce(
  (SELECT min(is_suspect) FROM jobs WHERE state = 'QUEUED' AND is_suspect = 1),
  (SELECT min(tokens_since) FROM jobs WHERE state = 'QUEUED' AND tokens_since IS NOT NULL))
