-- For a member of a sequential group that ended before its turn: the turn that those behind it wait for, which is that
-- of the nearest one before it in line that has not ended.
WITH RECURSIVE back (id) AS (
  SELECT substr(c.key, 7) FROM job_conditions AS c
  WHERE c.job_id = :job_id AND c.key >= 'group:' AND c.key < 'groupA' AND c.satisfied_at IS NULL
  UNION ALL
  SELECT substr(c.key, 7)
  FROM back
  CROSS JOIN jobs AS ended
  CROSS JOIN job_conditions AS c
  WHERE ended.id = back.id AND ended.finished_at IS NOT NULL
    AND c.job_id = ended.id AND c.key >= 'group:' AND c.key < 'groupA' AND c.satisfied_at IS NULL
)
SELECT 'group:' || jobs.id FROM back CROSS JOIN jobs WHERE jobs.id = back.id AND jobs.finished_at IS NULL LIMIT 1
