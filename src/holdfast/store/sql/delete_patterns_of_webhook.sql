DELETE FROM event_patterns WHERE webhook_id = :webhook_id
