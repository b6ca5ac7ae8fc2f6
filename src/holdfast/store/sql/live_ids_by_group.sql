SELECT id FROM jobs WHERE group_id = :group_id AND finished_at IS NULL
ORDER BY coalesce(group_seq, 0) DESC, number DESC LIMIT :limit
