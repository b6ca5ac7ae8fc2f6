-- In one queue, back to the weight that holds everywhere.
UPDATE tenants SET weight = coalesce(
  (SELECT everywhere.weight FROM tenants AS everywhere WHERE everywhere.queue = '' AND everywhere.tenant = :tenant), 10)
WHERE queue = :queue AND tenant = :tenant
