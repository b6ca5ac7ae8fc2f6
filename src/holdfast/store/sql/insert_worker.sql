INSERT INTO workers (id, session_id, name, tasks, queues, slots, connected_at, seen_at)
VALUES (:id, :session_id, :name, :tasks, :queues, :slots, :now, :now)
ON CONFLICT (id) DO NOTHING
