-- A version of a task is live if and only if a worker offers it.
SELECT v.task, v.digest, v.live_since FROM task_versions AS v
WHERE (v.live_since > 0) <> EXISTS (SELECT 1 FROM task_offers AS o WHERE o.task = v.task AND o.digest = v.digest)
