SELECT id FROM jobs WHERE user_tag = :tag AND finished_at IS NULL ORDER BY number LIMIT :limit
