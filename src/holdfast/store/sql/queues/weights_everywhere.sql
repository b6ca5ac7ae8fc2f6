-- Weights that hold in every queue, as far as they are not the usual one.
SELECT queue, tenant, weight, virtual_time, active_until, is_waiting, starts FROM tenants
WHERE queue = '' AND weight <> 10 ORDER BY tenant LIMIT :limit
