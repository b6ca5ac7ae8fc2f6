SELECT options, arguments, live_since FROM task_versions
WHERE task = :task ORDER BY live_since DESC, offered_at DESC LIMIT 1
