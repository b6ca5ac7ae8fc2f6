SELECT failures, failed_at, reason, opened_at, half_opens_at, is_half_open, probe FROM queue_breakers WHERE queue = :queue
