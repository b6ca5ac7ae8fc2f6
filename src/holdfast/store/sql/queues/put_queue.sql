INSERT INTO queues (name, @columns(queue))
VALUES (:name, @columns(:queue))
ON CONFLICT (name) DO UPDATE SET (@columns(queue)) = (@columns(excluded.queue)), opens_at = NULL
