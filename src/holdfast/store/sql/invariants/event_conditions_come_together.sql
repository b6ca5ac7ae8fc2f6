-- All attributes of an event condition are matched against one event.
SELECT c.job_id, c.key FROM job_conditions AS c
JOIN job_conditions AS main ON main.job_id = c.job_id AND main.key = 'event'
WHERE c.key >= 'event.' AND c.key < 'event/'
  AND (coalesce(c.satisfied_by, '') <> coalesce(main.satisfied_by, '')
    OR (c.satisfied_at IS NULL) <> (main.satisfied_at IS NULL))
