-- The jobs of a webhook's deliveries that have not ended.
SELECT j.id FROM webhook_deliveries AS d JOIN jobs AS j ON j.id = d.job_id
WHERE d.webhook_id = :webhook_id AND j.finished_at IS NULL LIMIT :limit
