UPDATE tenants SET active_until = :active_until WHERE tenant = :tenant
