-- Phase 4: groups, tags, tenants, results and what a person sees of a job.

CREATE TABLE job_groups (
  id         TEXT COLLATE "C" PRIMARY KEY,
  name       TEXT COLLATE "C",
  mode       TEXT COLLATE "C" NOT NULL DEFAULT 'parallel' CHECK (mode IN ('parallel', 'sequential')),
  on_failure TEXT COLLATE "C" NOT NULL DEFAULT 'stop' CHECK (on_failure IN ('stop', 'continue', 'skip')),
  created_at BIGINT NOT NULL
);

ALTER TABLE jobs ADD COLUMN parent_job_id TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN group_id TEXT COLLATE "C" REFERENCES job_groups (id);
-- Set in sequential groups only.
ALTER TABLE jobs ADD COLUMN group_seq BIGINT;
ALTER TABLE jobs ADD COLUMN user_tag TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN tenant TEXT COLLATE "C" NOT NULL DEFAULT 'default';
ALTER TABLE jobs ADD COLUMN resources TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN idempotency_key TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN trigger TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN result_summary TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN artifact_path TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN checkpoint TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN progress DOUBLE PRECISION CHECK (progress BETWEEN 0 AND 1);
ALTER TABLE jobs ADD COLUMN progress_text TEXT COLLATE "C";

CREATE INDEX idx_jobs_user_tag ON jobs (user_tag, number) WHERE user_tag IS NOT NULL;
CREATE INDEX idx_jobs_group ON jobs (group_id, group_seq) WHERE group_id IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_one_running_per_sequence ON jobs (group_id)
  WHERE state = 'RUNNING' AND group_seq IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_idempotency ON jobs (job_type, idempotency_key)
  WHERE idempotency_key IS NOT NULL AND retry_of IS NULL;

CREATE TABLE tenants (
  queue        TEXT COLLATE "C" NOT NULL,
  tenant       TEXT COLLATE "C" NOT NULL,
  weight       BIGINT NOT NULL DEFAULT 10 CHECK (weight > 0),
  virtual_time DOUBLE PRECISION NOT NULL DEFAULT 0,
  active_until BIGINT,
  PRIMARY KEY (queue, tenant)
);

CREATE TABLE direct_reservations (
  id          TEXT COLLATE "C" PRIMARY KEY,
  scope       TEXT COLLATE "C" NOT NULL,
  reserved_by TEXT COLLATE "C" NOT NULL,
  session_id  TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
  status      TEXT COLLATE "C" NOT NULL CHECK (status IN ('ACTIVE', 'RELEASED', 'EXPIRED')),
  ttl_ms      BIGINT NOT NULL CHECK (ttl_ms > 0),
  reserved_at BIGINT NOT NULL,
  granted_at  BIGINT,
  expires_at  BIGINT NOT NULL,
  ended_at    BIGINT,
  CHECK ((status = 'ACTIVE') = (ended_at IS NULL))
);

CREATE UNIQUE INDEX idx_reservations_active ON direct_reservations (scope) WHERE status = 'ACTIVE';

-- '*' is everything, and everything excludes each queue.
CREATE FUNCTION reservations_exclude_each_other() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM direct_reservations
    WHERE status = 'ACTIVE' AND (scope = NEW.scope OR scope = '*' OR NEW.scope = '*'))
  THEN
    RAISE EXCEPTION 'the scope is reserved' USING ERRCODE = 'exclusion_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER reservations_exclude_each_other
BEFORE INSERT ON direct_reservations FOR EACH ROW
WHEN (NEW.status = 'ACTIVE')
EXECUTE FUNCTION reservations_exclude_each_other();
