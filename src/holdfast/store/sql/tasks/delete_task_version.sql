DELETE FROM task_versions WHERE task = :task AND digest = :digest AND live_since = 0
