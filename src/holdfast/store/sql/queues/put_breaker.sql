INSERT INTO queue_breakers (queue, failures, failed_at, reason, opened_at, half_opens_at, is_half_open, probe)
VALUES (:queue, :failures, :failed_at, :reason, :opened_at, :half_opens_at, :is_half_open, :probe)
@upsert(queue: failures, failed_at, reason, opened_at, half_opens_at, is_half_open, probe)
