UPDATE tenants SET virtual_time = r.virtual_time, starts = tenants.starts + r.starts
FROM (
  SELECT * FROM json_to_recordset(CAST(:rows AS json)) AS given (
    queue TEXT, tenant TEXT, virtual_time DOUBLE PRECISION, starts BIGINT)
  -- Hidden from the planner, so that it keeps the plan: decision 052.
  LIMIT (SELECT CAST(:count AS BIGINT))) AS r
WHERE tenants.queue = r.queue AND tenants.tenant = r.tenant
