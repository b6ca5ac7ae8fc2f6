INSERT INTO tenants (queue, tenant, active_until) VALUES ('', :tenant, :active_until)
ON CONFLICT (queue, tenant) DO UPDATE SET active_until = excluded.active_until
