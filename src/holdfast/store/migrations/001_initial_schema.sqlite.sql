-- Phase 1: jobs, their runs, the subjects they are about, and the sessions that run them.

CREATE TABLE sessions (
  id                TEXT PRIMARY KEY,
  kind              TEXT NOT NULL CHECK (kind IN ('daemon', 'worker', 'embedded')),
  status            TEXT NOT NULL CHECK (status IN ('running', 'success', 'error', 'unknown')),
  node              TEXT NOT NULL,
  boot_id           TEXT NOT NULL,
  pid               INTEGER NOT NULL,
  lock_path         TEXT,
  started_at        INTEGER NOT NULL,
  heartbeat         INTEGER NOT NULL DEFAULT 0,
  last_heartbeat_at INTEGER NOT NULL,
  stop_requested_at INTEGER,
  runs_lost         INTEGER,
  stopped_at        INTEGER,
  CHECK ((status = 'running') = (stopped_at IS NULL))
) STRICT;

CREATE INDEX idx_sessions_running ON sessions (id) WHERE status = 'running';

CREATE TABLE queues (
  name         TEXT PRIMARY KEY,
  concurrency  INTEGER CHECK (concurrency >= 0),
  max_length   INTEGER CHECK (max_length >= 0),
  class        TEXT NOT NULL DEFAULT 'light' CHECK (class IN ('light', 'heavy')),
  paused_at    INTEGER,
  pause_reason TEXT
) STRICT;

CREATE TABLE subjects (
  job_type    TEXT NOT NULL,
  subject_key TEXT NOT NULL,
  generation  INTEGER NOT NULL CHECK (generation >= 0),
  updated_at  INTEGER NOT NULL,
  PRIMARY KEY (job_type, subject_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
  number      INTEGER PRIMARY KEY AUTOINCREMENT,
  id          TEXT NOT NULL UNIQUE,
  queue       TEXT NOT NULL,
  job_type    TEXT NOT NULL,
  subject_key TEXT,
  generation  INTEGER CHECK (generation >= 0),
  priority    INTEGER NOT NULL DEFAULT 0,
  position    INTEGER NOT NULL,
  state       TEXT NOT NULL CHECK (state IN (
    'QUEUED', 'SCHEDULED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED', 'SUPERSEDED',
    'SKIPPED_TTL', 'SKIPPED_DEADLINE')),
  created_at  INTEGER NOT NULL,
  queued_at   INTEGER,
  started_at  INTEGER,
  finished_at INTEGER,
  session_id  TEXT REFERENCES sessions (id),
  worker_id   TEXT,
  run_id      TEXT,
  payload     TEXT NOT NULL,
  log_path    TEXT,
  error_code  TEXT,
  reason      TEXT,
  CHECK ((subject_key IS NULL) = (generation IS NULL)),
  CHECK ((finished_at IS NOT NULL) = (state NOT IN ('SCHEDULED', 'QUEUED', 'RUNNING'))),
  CHECK ((run_id IS NOT NULL) = (state = 'RUNNING')),
  CHECK ((session_id IS NOT NULL) = (state = 'RUNNING')),
  CHECK (state <> 'QUEUED' OR queued_at IS NOT NULL),
  CHECK (state <> 'RUNNING' OR started_at IS NOT NULL)
) STRICT;

CREATE INDEX idx_jobs_pop ON jobs (queue, priority DESC, position, created_at, id)
  WHERE state = 'QUEUED';
CREATE INDEX idx_jobs_subject_generation ON jobs (subject_key, job_type, generation DESC)
  WHERE subject_key IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_one_running_per_subject ON jobs (job_type, subject_key)
  WHERE state = 'RUNNING' AND subject_key IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_one_waiting_per_subject ON jobs (job_type, subject_key)
  WHERE state IN ('SCHEDULED', 'QUEUED') AND subject_key IS NOT NULL;
-- Without the ready jobs: idx_jobs_pop has those, and no planner shall be tempted to pop by this one.
CREATE INDEX idx_jobs_state_queue ON jobs (state, queue, number) WHERE state <> 'QUEUED';
CREATE INDEX idx_jobs_gc ON jobs (finished_at, number) WHERE finished_at IS NOT NULL;

CREATE TABLE job_runs (
  id              TEXT PRIMARY KEY,
  job_id          TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  attempt         INTEGER NOT NULL CHECK (attempt >= 1),
  status          TEXT CHECK (status IN ('COMPLETED', 'FAILED', 'SKIPPED', 'CANCELLED', 'YIELDED')),
  session_id      TEXT REFERENCES sessions (id),
  worker_id       TEXT,
  params_snapshot TEXT NOT NULL,
  started_at      INTEGER NOT NULL,
  finished_at     INTEGER,
  exit_code       INTEGER,
  error           TEXT,
  artifacts       TEXT,
  log_path        TEXT,
  CHECK ((status IS NULL) = (finished_at IS NULL))
) STRICT;

CREATE UNIQUE INDEX idx_job_runs_of_job ON job_runs (job_id, attempt);
CREATE UNIQUE INDEX idx_job_runs_open ON job_runs (job_id) WHERE status IS NULL;

-- A closed run is history.
CREATE TRIGGER job_runs_closed_is_final
BEFORE UPDATE ON job_runs
WHEN OLD.status IS NOT NULL AND (
  NEW.status IS NOT OLD.status OR NEW.id <> OLD.id OR NEW.job_id <> OLD.job_id OR NEW.attempt <> OLD.attempt
  OR NEW.params_snapshot <> OLD.params_snapshot OR NEW.started_at <> OLD.started_at
  OR NEW.session_id IS NOT OLD.session_id)
BEGIN
  SELECT RAISE(ABORT, 'a closed run never changes');
END;

CREATE TRIGGER jobs_ended_is_final
BEFORE UPDATE OF state ON jobs
WHEN OLD.finished_at IS NOT NULL AND NEW.state <> OLD.state
BEGIN
  SELECT RAISE(ABORT, 'a job that has ended never changes its state');
END;

-- Counts per queue and state, kept by the database so that nobody has to scan.
CREATE TABLE queue_counts (
  queue TEXT NOT NULL,
  state TEXT NOT NULL,
  jobs  INTEGER NOT NULL,
  PRIMARY KEY (queue, state)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER jobs_count_inserted AFTER INSERT ON jobs
BEGIN
  INSERT INTO queue_counts (queue, state, jobs) VALUES (NEW.queue, NEW.state, 1)
  ON CONFLICT (queue, state) DO UPDATE SET jobs = jobs + 1;
END;

CREATE TRIGGER jobs_count_moved AFTER UPDATE OF state, queue ON jobs
WHEN OLD.state <> NEW.state OR OLD.queue <> NEW.queue
BEGIN
  UPDATE queue_counts SET jobs = jobs - 1 WHERE queue = OLD.queue AND state = OLD.state;
  INSERT INTO queue_counts (queue, state, jobs) VALUES (NEW.queue, NEW.state, 1)
  ON CONFLICT (queue, state) DO UPDATE SET jobs = jobs + 1;
END;

CREATE TRIGGER jobs_count_deleted AFTER DELETE ON jobs
BEGIN
  UPDATE queue_counts SET jobs = jobs - 1 WHERE queue = OLD.queue AND state = OLD.state;
END;
