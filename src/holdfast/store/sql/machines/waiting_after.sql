-- Jobs that wait, behind a cursor. `since` is when a delay, a backoff or a snooze began; NULL: it waits for a moment.
SELECT j.number, j.queue,
  CASE
    WHEN j.scheduled_at IS NULL THEN NULL
    WHEN j.attempts > 0 THEN coalesce((SELECT max(r.finished_at) FROM job_runs r WHERE r.job_id = j.id), j.created_at)
    WHEN j.schedule_type = 'AFTER' THEN j.created_at
    -- A delay beside the condition.
    WHEN j.schedule_type = 'CONDITION' AND j.schedule_delay_ms IS NOT NULL THEN j.created_at
  END AS since
FROM jobs j
WHERE j.state = 'SCHEDULED' AND j.state <> 'QUEUED' AND (j.queue, j.number) > (:queue, :number)
  AND j.number <= :upto_number
ORDER BY j.queue, j.number LIMIT :limit
