SELECT options, arguments, live_since FROM task_versions WHERE task = :task
