INSERT INTO task_offers (worker_id, task, digest) VALUES (:worker_id, :task, :digest) ON CONFLICT DO NOTHING
