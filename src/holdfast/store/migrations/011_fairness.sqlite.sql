-- Fair turns between tenants: who waits, and the clock of each queue.

ALTER TABLE tenants ADD COLUMN is_waiting INTEGER NOT NULL DEFAULT 0 CHECK (is_waiting IN (0, 1));
ALTER TABLE tenants ADD COLUMN starts INTEGER NOT NULL DEFAULT 0 CHECK (starts >= 0);
CREATE INDEX idx_tenants_waiting ON tenants (queue, virtual_time, tenant) WHERE is_waiting = 1;

CREATE TABLE queue_clocks (
  queue        TEXT PRIMARY KEY,
  virtual_time REAL NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

DROP INDEX idx_jobs_pop;
CREATE INDEX idx_jobs_pop ON jobs (queue, lane, tenant, priority DESC, position, created_at, id)
  WHERE state = 'QUEUED';
DROP INDEX idx_jobs_commands;
CREATE INDEX idx_jobs_commands ON jobs (queue, lane, tenant, priority DESC, position, created_at, id)
  WHERE state = 'QUEUED' AND job_type = 'command';

-- The row without a queue says what holds for the tenant everywhere.
-- A queue whose jobs are all of the default tenant has no rows in `tenants`; where there are others, it is one of them.
CREATE TRIGGER jobs_tenant_arrives AFTER INSERT ON jobs
WHEN NEW.state = 'QUEUED' AND coalesce(
  (SELECT is_waiting = 0 FROM tenants WHERE queue = NEW.queue AND tenant = NEW.tenant), NEW.tenant <> 'default')
BEGIN
  INSERT INTO tenants (queue, tenant, is_waiting, weight, active_until)
  SELECT NEW.queue, 'default', 1, coalesce(max(weight), 10), max(active_until)
  FROM tenants WHERE queue = '' AND tenant = 'default'
  ON CONFLICT DO NOTHING;
  INSERT INTO tenants (queue, tenant, is_waiting, weight, active_until)
  SELECT NEW.queue, NEW.tenant, 1, coalesce(max(weight), 10), max(active_until)
  FROM tenants WHERE queue = '' AND tenant = NEW.tenant
  ON CONFLICT (queue, tenant) DO UPDATE SET is_waiting = 1;
END;

CREATE TRIGGER jobs_tenant_returns AFTER UPDATE OF state ON jobs
WHEN NEW.state = 'QUEUED' AND OLD.state <> 'QUEUED' AND coalesce(
  (SELECT is_waiting = 0 FROM tenants WHERE queue = NEW.queue AND tenant = NEW.tenant), NEW.tenant <> 'default')
BEGIN
  INSERT INTO tenants (queue, tenant, is_waiting, weight, active_until)
  SELECT NEW.queue, 'default', 1, coalesce(max(weight), 10), max(active_until)
  FROM tenants WHERE queue = '' AND tenant = 'default'
  ON CONFLICT DO NOTHING;
  INSERT INTO tenants (queue, tenant, is_waiting, weight, active_until)
  SELECT NEW.queue, NEW.tenant, 1, coalesce(max(weight), 10), max(active_until)
  FROM tenants WHERE queue = '' AND tenant = NEW.tenant
  ON CONFLICT (queue, tenant) DO UPDATE SET is_waiting = 1;
END;

INSERT INTO tenants (queue, tenant, is_waiting)
SELECT queue, tenant, 1 FROM jobs WHERE state = 'QUEUED' AND tenant <> 'default'
UNION
SELECT queue, 'default', 1 FROM jobs WHERE state = 'QUEUED' AND tenant <> 'default'
ON CONFLICT (queue, tenant) DO UPDATE SET is_waiting = 1;
