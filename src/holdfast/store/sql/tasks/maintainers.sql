-- Who does the chores of the database: every program that has it open to work. One chore runs at a time, whoever does it.
SELECT s.id AS session_id, s.node, coalesce(n.name, s.node) AS node_name, CAST(:tasks AS TEXT) AS tasks, CAST(:queues AS TEXT) AS queues, 1 AS slots,
  (SELECT count(*) FROM jobs WHERE jobs.state = 'RUNNING' AND jobs.state <> 'QUEUED' AND jobs.queue = :queue) AS running,
  (SELECT jobs.id FROM jobs
   WHERE jobs.state = 'RUNNING' AND jobs.session_id = s.id AND jobs.is_suspect = 1 LIMIT 1) AS runs_alone,
  s.pulls_at
FROM sessions AS s LEFT JOIN nodes AS n ON n.id = s.node WHERE s.status = 'running' AND s.kind <> 'worker' AND s.stop_requested_at IS NULL
