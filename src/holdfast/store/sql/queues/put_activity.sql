INSERT INTO tenants (queue, tenant, active_until) VALUES ('', :tenant, :active_until)
@upsert(queue, tenant: active_until)
