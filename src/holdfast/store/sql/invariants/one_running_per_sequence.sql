SELECT j.group_id, count(*) AS running
FROM jobs AS j JOIN job_groups AS g ON g.id = j.group_id
WHERE j.state = 'RUNNING' AND g.mode = 'sequential'
GROUP BY j.group_id HAVING count(*) > 1
