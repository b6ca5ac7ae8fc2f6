INSERT INTO queues (name, paused_at, pause_reason) VALUES (:name, :paused_at, :reason)
@upsert(name: paused_at, pause_reason)
