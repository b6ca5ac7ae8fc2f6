-- Phase 4: groups, tags, tenants, results and what a person sees of a job.

CREATE TABLE job_groups (
  id         TEXT PRIMARY KEY,
  name       TEXT,
  mode       TEXT NOT NULL DEFAULT 'parallel' CHECK (mode IN ('parallel', 'sequential')),
  on_failure TEXT NOT NULL DEFAULT 'stop' CHECK (on_failure IN ('stop', 'continue', 'skip')),
  created_at INTEGER NOT NULL
) STRICT;

ALTER TABLE jobs ADD COLUMN parent_job_id TEXT;
ALTER TABLE jobs ADD COLUMN group_id TEXT REFERENCES job_groups (id);
-- Set in sequential groups only.
ALTER TABLE jobs ADD COLUMN group_seq INTEGER;
ALTER TABLE jobs ADD COLUMN user_tag TEXT;
ALTER TABLE jobs ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';
ALTER TABLE jobs ADD COLUMN resources TEXT;
ALTER TABLE jobs ADD COLUMN idempotency_key TEXT;
ALTER TABLE jobs ADD COLUMN trigger TEXT;
ALTER TABLE jobs ADD COLUMN result_summary TEXT;
ALTER TABLE jobs ADD COLUMN artifact_path TEXT;
ALTER TABLE jobs ADD COLUMN checkpoint TEXT;
ALTER TABLE jobs ADD COLUMN progress REAL CHECK (progress BETWEEN 0 AND 1);
ALTER TABLE jobs ADD COLUMN progress_text TEXT;

CREATE INDEX idx_jobs_user_tag ON jobs (user_tag, number) WHERE user_tag IS NOT NULL;
CREATE INDEX idx_jobs_group ON jobs (group_id, group_seq) WHERE group_id IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_one_running_per_sequence ON jobs (group_id)
  WHERE state = 'RUNNING' AND group_seq IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_idempotency ON jobs (job_type, idempotency_key)
  WHERE idempotency_key IS NOT NULL AND retry_of IS NULL;

CREATE TABLE tenants (
  queue        TEXT NOT NULL,
  tenant       TEXT NOT NULL,
  weight       INTEGER NOT NULL DEFAULT 10 CHECK (weight > 0),
  virtual_time REAL NOT NULL DEFAULT 0,
  active_until INTEGER,
  PRIMARY KEY (queue, tenant)
) STRICT, WITHOUT ROWID;

CREATE TABLE direct_reservations (
  id          TEXT PRIMARY KEY,
  scope       TEXT NOT NULL,
  reserved_by TEXT NOT NULL,
  session_id  TEXT NOT NULL REFERENCES sessions (id),
  status      TEXT NOT NULL CHECK (status IN ('ACTIVE', 'RELEASED', 'EXPIRED')),
  ttl_ms      INTEGER NOT NULL CHECK (ttl_ms > 0),
  reserved_at INTEGER NOT NULL,
  granted_at  INTEGER,
  expires_at  INTEGER NOT NULL,
  ended_at    INTEGER,
  CHECK ((status = 'ACTIVE') = (ended_at IS NULL))
) STRICT;

CREATE UNIQUE INDEX idx_reservations_active ON direct_reservations (scope) WHERE status = 'ACTIVE';

-- '*' is everything, and everything excludes each queue.
CREATE TRIGGER reservations_exclude_each_other
BEFORE INSERT ON direct_reservations
WHEN NEW.status = 'ACTIVE' AND EXISTS (
  SELECT 1 FROM direct_reservations
  WHERE status = 'ACTIVE' AND (scope = NEW.scope OR scope = '*' OR NEW.scope = '*'))
BEGIN
  SELECT RAISE(ABORT, 'the scope is reserved');
END;
