SELECT DISTINCT task FROM task_versions ORDER BY task LIMIT :limit
