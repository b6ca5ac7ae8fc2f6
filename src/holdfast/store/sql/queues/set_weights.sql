UPDATE tenants SET weight = :weight WHERE tenant = :tenant
