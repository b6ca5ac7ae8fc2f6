SELECT id FROM handler_invocations WHERE started_at < :before ORDER BY started_at LIMIT :limit
