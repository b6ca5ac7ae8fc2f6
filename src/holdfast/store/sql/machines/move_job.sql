UPDATE jobs SET scheduled_at = scheduled_at + :step_ms WHERE number = :number AND state = 'SCHEDULED'
