-- A sign that the end of a run can matter to others than its worker, or NULL: a queue with a limit, a task of which a
-- job with a subject waits, or a queue with a job that waits for the machine; by the smallest, which every planner takes
-- from the index of these.
SELECT coalesce(
  (SELECT min(name) FROM queues WHERE concurrency IS NOT NULL),
  (SELECT min(job_type) FROM jobs WHERE state IN ('SCHEDULED', 'QUEUED') AND subject_key IS NOT NULL),
  (SELECT min(queue) FROM jobs WHERE state = 'QUEUED' AND (lane & 31) > 0))
