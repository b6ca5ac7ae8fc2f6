UPDATE webhook_deliveries SET job_id = :job_id WHERE id = :id
