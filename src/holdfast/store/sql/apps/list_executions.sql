-- Newest first, behind a row or from the first one.
SELECT * FROM job_executions
WHERE job_id = :id AND (started_at, id) < (:started_at, :below) AND started_at >= :since
ORDER BY started_at DESC, id DESC LIMIT :limit
