SELECT queue, tenant, weight, virtual_time, active_until, is_waiting, starts FROM tenants
WHERE queue <> '' AND (CAST(:queue AS TEXT) IS NULL OR queue = :queue) ORDER BY queue, tenant LIMIT :limit
