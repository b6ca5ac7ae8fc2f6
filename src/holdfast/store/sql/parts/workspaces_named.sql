-- Workspaces with the names of their owners and machines, the numbers of the jobs of their operations, and since when they
-- are looked after.
SELECT @columns(w.workspace), u.name AS owner, coalesce(n.name, w.node) AS node_name, j.number AS op_job_number,
  (SELECT taken_at FROM controllers AS c WHERE c.node = w.node) AS controlled_since,
  (SELECT noted_at FROM clock_steps WHERE number = (SELECT max(number) FROM clock_steps)) AS clock_set_at
FROM workspaces AS w
JOIN users AS u ON u.id = w.owner_user_id
LEFT JOIN nodes AS n ON n.id = w.node
LEFT JOIN jobs AS j ON j.id = w.op_job_id
