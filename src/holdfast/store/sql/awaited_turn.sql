-- The turn in a sequential group that a job waits for, or waited for when it ended: its predecessor has not ended.
SELECT c.key FROM job_conditions AS c JOIN jobs AS predecessor ON predecessor.id = substr(c.key, 7)
WHERE c.job_id = :job_id AND c.value = 'group' AND c.satisfied_at IS NULL AND predecessor.finished_at IS NULL
