-- The last member, or a retry of it: the member itself may be forgotten by now.
SELECT id, group_seq FROM jobs
WHERE group_id = :group_id AND group_seq IS NOT NULL
ORDER BY group_seq DESC LIMIT 1
