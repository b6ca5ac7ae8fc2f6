-- Tasks of waiting jobs that no worker has declared lately, but for commands and the system's own.
SELECT task, count(*) AS jobs, min(number) AS example FROM (
  SELECT job_type AS task, number FROM jobs WHERE state = 'QUEUED'
  UNION ALL
  SELECT job_type, number FROM jobs WHERE state = 'SCHEDULED' AND state <> 'QUEUED'
) AS waiting
WHERE task <> :command AND NOT (task >= :first AND task < :behind)
  AND NOT EXISTS (SELECT 1 FROM task_versions WHERE task_versions.task = waiting.task)
GROUP BY task ORDER BY jobs DESC, task LIMIT :limit
