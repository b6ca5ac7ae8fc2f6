INSERT INTO queues (name, concurrency) VALUES (:name, :concurrency)
ON CONFLICT (name) DO UPDATE SET concurrency = EXCLUDED.concurrency
