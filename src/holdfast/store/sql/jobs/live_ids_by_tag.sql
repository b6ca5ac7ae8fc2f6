-- Without those that were asked to stop already, so that cancelling in steps comes to an end.
SELECT id FROM jobs
WHERE user_tag = :tag AND finished_at IS NULL AND (state <> 'RUNNING' OR stop_reason IS DISTINCT FROM 'cancel')
ORDER BY number LIMIT :limit
