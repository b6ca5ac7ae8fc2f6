-- A tenant with ready jobs stands in the line of its queue; the default tenant alone needs no line.
SELECT jobs.id, jobs.queue, jobs.tenant FROM jobs
LEFT JOIN tenants AS t ON t.queue = jobs.queue AND t.tenant = jobs.tenant
WHERE jobs.state = 'QUEUED' AND coalesce(t.is_waiting, 0) = 0
  AND (jobs.tenant <> 'default' OR EXISTS (
    SELECT 1 FROM tenants AS other WHERE other.queue = jobs.queue AND other.is_waiting = 1))
