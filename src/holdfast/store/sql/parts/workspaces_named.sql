-- Workspaces with the names of their owners and machines, and the numbers of the jobs of their operations.
SELECT @columns(w.workspace), u.name AS owner, coalesce(n.name, w.node) AS node_name, j.number AS op_job_number
FROM workspaces AS w
JOIN users AS u ON u.id = w.owner_user_id
LEFT JOIN nodes AS n ON n.id = w.node
LEFT JOIN jobs AS j ON j.id = w.op_job_id
