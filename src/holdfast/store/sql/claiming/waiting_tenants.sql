-- Who waits for a turn, the least virtual time first, from a place in that order on.
SELECT tenant, virtual_time, weight, active_until FROM tenants
WHERE queue = :queue AND is_waiting = 1 AND (virtual_time, tenant) > (:virtual_time, :after)
ORDER BY virtual_time, tenant LIMIT :limit
