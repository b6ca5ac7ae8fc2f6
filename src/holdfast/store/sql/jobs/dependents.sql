-- Who waits for this job to end, and by which rule; that of the group first, so that one who is left out counts as that.
SELECT c.job_id, c.key, c.value, coalesce(g.on_failure, 'stop') AS on_failure
FROM job_conditions AS c
JOIN jobs AS j ON j.id = c.job_id
LEFT JOIN job_groups AS g ON g.id = j.group_id
WHERE c.key IN (:after_key, :group_key) AND c.satisfied_at IS NULL AND j.state = 'SCHEDULED'
ORDER BY j.number, c.key DESC
