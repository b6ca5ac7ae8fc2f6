SELECT id FROM jobs
WHERE state = 'QUEUED' AND ttl_ms IS NOT NULL AND queued_at + ttl_ms <= :now
ORDER BY queued_at + ttl_ms, number LIMIT :limit
