-- Fair turns between tenants: who waits, and the clock of each queue.

ALTER TABLE tenants ADD COLUMN is_waiting BIGINT NOT NULL DEFAULT 0 CHECK (is_waiting IN (0, 1));
ALTER TABLE tenants ADD COLUMN starts BIGINT NOT NULL DEFAULT 0 CHECK (starts >= 0);
CREATE INDEX idx_tenants_waiting ON tenants (queue, virtual_time, tenant) WHERE is_waiting = 1;

CREATE TABLE queue_clocks (
  queue        TEXT COLLATE "C" PRIMARY KEY,
  virtual_time DOUBLE PRECISION NOT NULL DEFAULT 0
);

DROP INDEX idx_jobs_pop;
CREATE INDEX idx_jobs_pop ON jobs (queue, lane, tenant, priority DESC, position, created_at, id)
  WHERE state = 'QUEUED';
DROP INDEX idx_jobs_commands;
CREATE INDEX idx_jobs_commands ON jobs (queue, lane, tenant, priority DESC, position, created_at, id)
  WHERE state = 'QUEUED' AND job_type = 'command';

-- The row without a queue says what holds for the tenant everywhere.
-- A queue whose jobs are all of the default tenant has no rows in `tenants`; where there are others, it is one of them.
CREATE FUNCTION jobs_tenants_arrive() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tenants AS t (queue, tenant, is_waiting, weight, active_until)
  SELECT who.queue, who.tenant, 1, coalesce(general.weight, 10), general.active_until
  FROM (
    SELECT queue, tenant FROM arrived
    WHERE state = 'QUEUED' AND (tenant <> 'default' OR EXISTS (
      SELECT 1 FROM tenants AS known WHERE known.queue = arrived.queue AND known.tenant = 'default'))
    UNION
    SELECT queue, 'default' FROM arrived WHERE state = 'QUEUED' AND tenant <> 'default'
  ) AS who LEFT JOIN tenants AS general ON general.queue = '' AND general.tenant = who.tenant
  ORDER BY 1, 2
  ON CONFLICT (queue, tenant) DO UPDATE SET is_waiting = 1 WHERE t.is_waiting = 0;
  RETURN NULL;
END $$;

CREATE TRIGGER jobs_tenant_arrives AFTER INSERT ON jobs
REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT
EXECUTE FUNCTION jobs_tenants_arrive();

CREATE TRIGGER jobs_tenant_returns AFTER UPDATE ON jobs
REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT
EXECUTE FUNCTION jobs_tenants_arrive();

INSERT INTO tenants (queue, tenant, is_waiting)
SELECT queue, tenant, 1 FROM jobs WHERE state = 'QUEUED' AND tenant <> 'default'
UNION
SELECT queue, 'default', 1 FROM jobs WHERE state = 'QUEUED' AND tenant <> 'default'
ON CONFLICT (queue, tenant) DO UPDATE SET is_waiting = 1;
