SELECT task, digest FROM task_versions WHERE live_since = 0 AND offered_at < :before LIMIT :limit
