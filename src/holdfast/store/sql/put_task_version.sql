INSERT INTO task_versions (task, digest, options, arguments, source, doc, live_since, offered_at, declared_at)
VALUES (:task, :digest, :options, :arguments, :source, :doc, :live_since, :now, :now)
ON CONFLICT (task, digest) DO UPDATE
SET source = excluded.source, doc = excluded.doc, live_since = excluded.live_since, offered_at = excluded.offered_at
