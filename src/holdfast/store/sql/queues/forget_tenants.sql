-- Tenants at rest about whom there is nothing to remember: whoever comes back starts at the clock of the queue anyway,
-- with the weight that holds everywhere; and where nobody waits, nobody is behind. The default tenant stays, since it is
-- known by its row that others came.
DELETE FROM tenants WHERE (queue, tenant) IN (
  SELECT t.queue, t.tenant
  FROM tenants AS t
  LEFT JOIN queue_clocks AS c ON c.queue = t.queue
  LEFT JOIN tenants AS everywhere ON everywhere.queue = '' AND everywhere.tenant = t.tenant AND t.queue <> ''
  WHERE t.tenant <> 'default' AND t.is_waiting = 0
    AND t.weight = coalesce(everywhere.weight, 10)
    AND (t.active_until IS NULL OR t.active_until < :faded OR t.active_until = everywhere.active_until)
    AND (t.virtual_time <= coalesce(c.virtual_time, 0) OR NOT EXISTS (
      SELECT 1 FROM tenants AS other WHERE other.queue = t.queue AND other.is_waiting = 1))
  ORDER BY t.queue, t.virtual_time LIMIT :limit)
