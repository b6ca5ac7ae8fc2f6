SELECT 1 FROM jobs WHERE group_id = :group_id AND group_id IS NOT NULL AND finished_at IS NULL LIMIT 1
