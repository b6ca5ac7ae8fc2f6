-- The jobs that tell webhooks about an event.
SELECT d.job_id, j.number, j.state, w.name AS webhook
FROM webhook_deliveries AS d JOIN jobs AS j ON j.id = d.job_id JOIN webhooks AS w ON w.id = d.webhook_id
WHERE d.event_id = :event_id ORDER BY j.number LIMIT :limit
