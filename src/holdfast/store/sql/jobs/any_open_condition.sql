-- Whether any job waits for another one. Those that wait for events are not asked when a job ends.
SELECT 1 WHERE EXISTS (
  SELECT 1 FROM job_conditions WHERE satisfied_at IS NULL AND key >= 'after:' AND key < 'afterA')
OR EXISTS (
  SELECT 1 FROM job_conditions WHERE satisfied_at IS NULL AND key >= 'group:' AND key < 'groupA')
