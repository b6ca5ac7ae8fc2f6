-- For a member of a sequential group that ended before its turn: the turn that those behind it wait for, which is that
-- of the nearest one before it that has not ended.
SELECT 'group:' || live.id
FROM job_conditions AS c
JOIN jobs AS member ON member.id = c.job_id
JOIN jobs AS live ON live.group_id = member.group_id AND live.group_seq < member.group_seq
WHERE c.job_id = :job_id AND c.key >= 'group:' AND c.key < 'groupA' AND c.satisfied_at IS NULL
  AND live.group_id IS NOT NULL AND live.finished_at IS NULL
ORDER BY live.group_seq DESC LIMIT 1
