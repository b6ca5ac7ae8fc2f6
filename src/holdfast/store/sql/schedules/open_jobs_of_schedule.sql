-- The last link of a retry chain carries the schedule as well, so that this finds every chain that has not ended.
SELECT id FROM jobs WHERE schedule_id = :schedule_id AND schedule_id IS NOT NULL AND finished_at IS NULL
ORDER BY number LIMIT :limit
