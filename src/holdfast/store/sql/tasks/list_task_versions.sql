-- Every version of some tasks by name, the newest of each first; without what is long of their arguments.
SELECT v.task, v.digest, v.options, CASE WHEN length(v.arguments) <= :longest THEN v.arguments END AS arguments,
  v.source, v.doc, v.live_since, v.offered_at, v.declared_at,
  (SELECT count(*) FROM task_offers AS o WHERE o.task = v.task AND o.digest = v.digest) AS workers
FROM task_versions AS v
WHERE v.task IN (SELECT DISTINCT task FROM task_versions WHERE task > :after ORDER BY task LIMIT :limit)
ORDER BY v.task, v.live_since DESC, v.offered_at DESC
