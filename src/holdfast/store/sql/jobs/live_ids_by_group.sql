-- Without those that were asked to stop already, so that cancelling in steps comes to an end.
SELECT id FROM jobs
WHERE group_id = :group_id AND finished_at IS NULL AND (state <> 'RUNNING' OR stop_reason IS DISTINCT FROM 'cancel')
ORDER BY coalesce(group_seq, 0) DESC, number DESC LIMIT :limit
