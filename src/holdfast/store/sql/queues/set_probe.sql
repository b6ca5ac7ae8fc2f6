UPDATE queue_breakers SET is_half_open = 1, probe = :job_id WHERE queue = :queue AND opened_at IS NOT NULL
