DELETE FROM job_groups
WHERE created_at < :before AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.group_id = job_groups.id AND jobs.group_id IS NOT NULL)
