-- Versions that only the workers of this session offer are offered no longer.
UPDATE task_versions SET live_since = 0, offered_at = :now
WHERE live_since > 0
  AND (task, digest) IN (
    SELECT o.task, o.digest FROM task_offers AS o JOIN workers AS w ON w.id = o.worker_id
    WHERE w.session_id = :session_id)
  AND NOT EXISTS (
    SELECT 1 FROM task_offers AS o JOIN workers AS w ON w.id = o.worker_id
    WHERE o.task = task_versions.task AND o.digest = task_versions.digest AND w.session_id <> :session_id)
