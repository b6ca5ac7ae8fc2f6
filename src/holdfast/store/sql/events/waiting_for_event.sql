-- Who waits with one of these keys since before the event, whatever has become of them.
SELECT c.job_id, j.state FROM job_conditions AS c JOIN jobs AS j ON j.id = c.job_id
WHERE c.key = 'event' AND c.value @in(:keys) AND c.satisfied_at IS NULL AND j.number <= :upto_number
LIMIT :limit
