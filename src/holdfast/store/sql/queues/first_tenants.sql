SELECT tenant FROM tenants WHERE queue = :queue AND is_waiting = 1 ORDER BY virtual_time, tenant LIMIT :limit
