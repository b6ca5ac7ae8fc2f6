-- How a tenant of a queue stands.
SELECT tenant, virtual_time, weight, active_until FROM tenants WHERE queue = :queue AND tenant = :tenant
