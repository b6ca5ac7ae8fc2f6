UPDATE tenants SET virtual_time = :virtual_time, starts = starts + :starts
WHERE queue = :queue AND tenant = :tenant
