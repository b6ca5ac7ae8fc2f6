-- Who waits for an event is found by its pattern; without one the event would pass by.
SELECT c.job_id, c.value FROM job_conditions AS c JOIN jobs AS j ON j.id = c.job_id
WHERE c.key = 'event' AND c.satisfied_at IS NULL AND j.state = 'SCHEDULED'
  AND NOT EXISTS (
    SELECT 1 FROM event_patterns AS p WHERE p.pattern = j.wait_for_event AND p.owner = '')
