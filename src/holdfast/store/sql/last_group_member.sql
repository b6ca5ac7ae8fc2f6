SELECT id, group_seq FROM jobs
WHERE group_id = :group_id AND group_seq IS NOT NULL AND retry_of IS NULL
ORDER BY group_seq DESC LIMIT 1
