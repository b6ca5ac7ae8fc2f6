-- The member that stands before this one in a sequential group, or a retry of it.
SELECT before.id
FROM jobs AS mine
JOIN jobs AS before ON before.group_id = mine.group_id AND before.group_seq < mine.group_seq
WHERE mine.id = :job_id AND before.group_id IS NOT NULL
ORDER BY before.group_seq DESC LIMIT 1
