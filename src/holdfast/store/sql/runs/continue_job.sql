-- The next link of a retry chain: the same request, the tries used so far, its own id and history.
INSERT INTO jobs (
  id, state, created_at, schedule_type, scheduled_at, reason, is_suspect, retry_of, @columns(continued_job)
)
SELECT :new_id, 'SCHEDULED', :now, 'AT', :until, :reason, :is_suspect, id, @columns(continued_job)
FROM jobs WHERE id = :job_id
