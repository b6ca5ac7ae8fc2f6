-- Every queue with ready jobs that take tokens, found among those that wait for the machine.
WITH RECURSIVE @part(gated_queues)
SELECT queue FROM ready WHERE EXISTS (
  SELECT 1 FROM jobs WHERE state = 'QUEUED' AND jobs.queue = ready.queue AND (lane & 31) > 0 AND (lane & 31) > 3)
