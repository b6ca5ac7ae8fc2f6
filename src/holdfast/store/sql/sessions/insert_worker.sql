INSERT INTO workers (id, session_id, name, tasks, queues, slots, connected_at)
VALUES (:id, :session_id, :name, :tasks, :queues, :slots, :now)
ON CONFLICT (id) DO NOTHING
