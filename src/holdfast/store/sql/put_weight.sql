INSERT INTO tenants (queue, tenant, weight) VALUES (:queue, :tenant, :weight)
ON CONFLICT (queue, tenant) DO UPDATE SET weight = excluded.weight
