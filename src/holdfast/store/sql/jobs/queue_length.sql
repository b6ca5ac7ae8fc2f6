-- How many jobs of a queue wait.
SELECT coalesce(sum(jobs), 0) FROM queue_counts WHERE queue = :queue AND state IN ('QUEUED', 'SCHEDULED')
