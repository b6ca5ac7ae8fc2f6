-- Some conditions less; the last one makes the job ready unless its time has not come. Then it is ready since the last of
-- all that came true: an event may have been emitted while nobody ran.
UPDATE jobs
SET open_conditions = open_conditions - :count,
    state = CASE WHEN open_conditions = :count AND coalesce(scheduled_at, 0) <= :now THEN 'QUEUED' ELSE state END,
    queued_at = CASE
      WHEN open_conditions = :count AND coalesce(scheduled_at, 0) <= :now THEN @part(ready_from)
      ELSE queued_at
    END
WHERE id = :job_id AND state = 'SCHEDULED' AND open_conditions >= :count
RETURNING state, queue
