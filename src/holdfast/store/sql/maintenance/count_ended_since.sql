SELECT count(*) FROM (SELECT 1 FROM jobs WHERE finished_at IS NOT NULL AND finished_at > :since LIMIT :most) AS ended
