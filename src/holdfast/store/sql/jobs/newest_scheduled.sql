-- The newest jobs of a queue that are not ready yet and have never run; nobody looks further back than `depth` of them.
SELECT id, priority, number FROM (
  SELECT id, priority, number, attempts FROM jobs
  WHERE state = 'SCHEDULED' AND state <> 'QUEUED' AND queue = :queue AND number <= :upto
  ORDER BY number DESC LIMIT :depth) AS newest
WHERE priority < :below AND attempts = 0
ORDER BY priority, number DESC LIMIT :limit
