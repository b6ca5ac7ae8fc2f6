DELETE FROM event_patterns WHERE owner = :owner
