-- Queues in which others may start something now that these jobs have stopped running: those with a limit that have
-- room, those where a job of the same subject is ready, and those whose jobs take tokens, if these gave some back.
-- Whether a queue has any is asked by the smallest: PostgreSQL may turn an EXISTS into a walk through all that are ready.
WITH RECURSIVE @part(gated_queues)
SELECT ended.queue
FROM jobs AS ended CROSS JOIN queues AS q
WHERE ended.id @in(:ids) AND q.name = ended.queue
  AND q.concurrency > (SELECT count(*) FROM jobs WHERE state = 'RUNNING' AND state <> 'QUEUED' AND queue = q.name)
  AND (SELECT min(lane) FROM jobs WHERE state = 'QUEUED' AND queue = q.name) IS NOT NULL
UNION
SELECT follower.queue
FROM jobs AS ended CROSS JOIN jobs AS follower
WHERE ended.id @in(:ids) AND follower.job_type = ended.job_type AND follower.subject_key = ended.subject_key
  AND follower.state = 'QUEUED' AND follower.state IN ('SCHEDULED', 'QUEUED') AND follower.subject_key IS NOT NULL
UNION
SELECT ready.queue FROM ready
WHERE (SELECT min(lane) FROM jobs WHERE state = 'QUEUED' AND jobs.queue = ready.queue AND (lane & 31) > 0 AND (lane & 31) > 3)
    IS NOT NULL
  AND (SELECT max(ended.lane & 31) FROM jobs AS ended WHERE ended.id @in(:ids)) > 3
