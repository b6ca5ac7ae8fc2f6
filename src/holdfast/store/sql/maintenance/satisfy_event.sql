-- The event came: the condition and the attributes beside it are true together.
UPDATE job_conditions SET satisfied_at = :emitted_at, satisfied_by = :event_id
WHERE job_id = :job_id AND satisfied_at IS NULL AND key >= 'event' AND key < 'event/'
