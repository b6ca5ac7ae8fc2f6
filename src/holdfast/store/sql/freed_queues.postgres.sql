-- Queues in which others may start something now that these jobs have stopped running: those with a limit that have
-- room, those where a job of the same subject is ready, and those whose jobs take tokens, if these gave some back.
-- Whether a queue has any is asked by the smallest: an EXISTS may be turned into a walk through all that are ready.
WITH RECURSIVE ready (queue) AS (
  SELECT min(queue) FROM jobs WHERE state = 'QUEUED' AND (lane & 31) > 0
  UNION ALL
  SELECT (SELECT min(queue) FROM jobs WHERE state = 'QUEUED' AND (lane & 31) > 0 AND jobs.queue > ready.queue)
  FROM ready WHERE ready.queue IS NOT NULL
)
SELECT ended.queue
FROM json_array_elements_text(CAST(:ids AS json)) AS asked (id) JOIN jobs AS ended ON ended.id = asked.id
  JOIN queues AS q ON q.name = ended.queue
WHERE q.concurrency > (SELECT count(*) FROM jobs WHERE state = 'RUNNING' AND state <> 'QUEUED' AND queue = q.name)
  AND (SELECT min(lane) FROM jobs WHERE state = 'QUEUED' AND queue = q.name) IS NOT NULL
UNION
SELECT follower.queue
FROM json_array_elements_text(CAST(:ids AS json)) AS asked (id) JOIN jobs AS ended ON ended.id = asked.id
  JOIN jobs AS follower ON follower.job_type = ended.job_type AND follower.subject_key = ended.subject_key
WHERE follower.state = 'QUEUED' AND follower.state IN ('SCHEDULED', 'QUEUED') AND follower.subject_key IS NOT NULL
UNION
SELECT ready.queue FROM ready
WHERE (SELECT min(lane) FROM jobs WHERE state = 'QUEUED' AND jobs.queue = ready.queue AND (lane & 31) > 0 AND (lane & 31) > 3)
    IS NOT NULL
  AND EXISTS (SELECT 1 FROM json_array_elements_text(CAST(:ids AS json)) AS asked (id) JOIN jobs AS ended ON ended.id = asked.id WHERE (ended.lane & 31) > 3)
