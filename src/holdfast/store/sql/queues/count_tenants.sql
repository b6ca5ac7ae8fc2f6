SELECT count(*) FROM tenants
