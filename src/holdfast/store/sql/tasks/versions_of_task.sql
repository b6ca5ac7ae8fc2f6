-- The newest version first.
SELECT v.*,
  (SELECT count(*) FROM task_offers AS o WHERE o.task = v.task AND o.digest = v.digest) AS workers
FROM task_versions AS v WHERE v.task = :task ORDER BY v.live_since DESC, v.offered_at DESC
