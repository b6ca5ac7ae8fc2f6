UPDATE tenants SET virtual_time = r.virtual_time, starts = tenants.starts + r.starts
@rows(r: queue TEXT, tenant TEXT, virtual_time DOUBLE PRECISION, starts BIGINT)
WHERE tenants.queue = r.queue AND tenants.tenant = r.tenant
