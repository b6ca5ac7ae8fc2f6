-- A job waits for others that exist and have not ended; otherwise it would wait for ever.
SELECT c.job_id, c.key FROM job_conditions AS c JOIN jobs AS j ON j.id = c.job_id
WHERE c.satisfied_at IS NULL AND j.state = 'SCHEDULED' AND (c.key LIKE 'after:%' OR c.key LIKE 'group:%')
  AND NOT EXISTS (
    SELECT 1 FROM jobs AS parent
    WHERE parent.id = substr(c.key, 7) AND parent.finished_at IS NULL)
