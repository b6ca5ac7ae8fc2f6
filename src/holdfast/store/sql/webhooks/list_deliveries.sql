-- Deliveries of a webhook, newest first, each with its job and what the last run of that said.
SELECT d.id, d.webhook_id, d.event_id, d.event_name, d.job_id, d.created_at,
  j.number AS job_number, j.state, j.attempts, j.finished_at, j.scheduled_at, j.error_code,
  (SELECT r.error FROM job_runs AS r WHERE r.job_id = j.id ORDER BY r.attempt DESC LIMIT 1) AS error
FROM webhook_deliveries AS d JOIN jobs AS j ON j.id = d.job_id
WHERE d.webhook_id = :webhook_id AND (d.created_at, d.id) < (:below_moment, :below_id)
  AND (:failed = 0 OR j.state = 'FAILED')
ORDER BY d.created_at DESC, d.id DESC LIMIT :limit
