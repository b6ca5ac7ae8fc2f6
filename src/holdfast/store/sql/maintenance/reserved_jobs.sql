-- Waiting jobs in queues of the system's own whose task is none of its own. The range is a little too wide, and one.
SELECT number, job_type AS task, queue FROM jobs
WHERE state = 'QUEUED' AND queue >= :queue AND queue < :behind AND (queue = :queue OR queue >= :first)
  AND NOT (job_type >= :first AND job_type < :behind)
UNION ALL
SELECT number, job_type, queue FROM jobs
WHERE state = 'SCHEDULED' AND state <> 'QUEUED' AND queue >= :queue AND queue < :behind AND (queue = :queue OR queue >= :first)
  AND NOT (job_type >= :first AND job_type < :behind)
LIMIT :limit
