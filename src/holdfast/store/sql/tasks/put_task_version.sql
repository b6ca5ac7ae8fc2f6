INSERT INTO task_versions (task, digest, options, arguments, source, doc, live_since, offered_at, declared_at)
VALUES (:task, :digest, :options, :arguments, :source, :doc, :live_since, :now, :now)
@upsert(task, digest: source, doc, live_since, offered_at)
