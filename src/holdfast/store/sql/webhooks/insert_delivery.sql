INSERT INTO webhook_deliveries (id, webhook_id, event_id, event_name, job_id, created_at)
VALUES (:id, :webhook_id, :event_id, :event_name, :job_id, :now)
