-- Who is said to wait for a turn, over all queues.
SELECT queue, tenant FROM tenants WHERE is_waiting = 1 AND queue <> '' ORDER BY queue, virtual_time, tenant LIMIT :limit
