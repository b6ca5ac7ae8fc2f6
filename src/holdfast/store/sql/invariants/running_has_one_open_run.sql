-- RUNNING if and only if exactly one open run, and it is the one the job names.
SELECT j.id, j.state, j.run_id, count(r.id) AS open_runs
FROM jobs AS j LEFT JOIN job_runs AS r ON r.job_id = j.id AND r.status IS NULL
GROUP BY j.id, j.state, j.run_id
HAVING (j.state = 'RUNNING') <> (count(r.id) = 1)
  OR count(r.id) > 1
  OR (j.state = 'RUNNING' AND max(r.id) <> j.run_id)
