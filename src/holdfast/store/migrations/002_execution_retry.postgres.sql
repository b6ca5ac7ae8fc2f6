-- Phase 2: how a job is executed, how long it may take, and what a failure means.

ALTER TABLE jobs ADD COLUMN trace_id TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN execution_mode TEXT COLLATE "C" NOT NULL DEFAULT 'IN_PROCESS'
  CHECK (execution_mode IN ('IN_PROCESS', 'SUBPROCESS'));
ALTER TABLE jobs ADD COLUMN env_vars TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0 CHECK (attempts >= 0);
ALTER TABLE jobs ADD COLUMN transient_tries BIGINT NOT NULL DEFAULT 0 CHECK (transient_tries >= 0);
ALTER TABLE jobs ADD COLUMN infra_tries BIGINT NOT NULL DEFAULT 0 CHECK (infra_tries >= 0);
ALTER TABLE jobs ADD COLUMN deaths BIGINT NOT NULL DEFAULT 0 CHECK (deaths >= 0);
ALTER TABLE jobs ADD COLUMN is_suspect BIGINT NOT NULL DEFAULT 0 CHECK (is_suspect IN (0, 1));
ALTER TABLE jobs ADD COLUMN retry_mode TEXT COLLATE "C" NOT NULL DEFAULT 'REQUEUE' CHECK (retry_mode IN ('REQUEUE', 'CHAIN'));
ALTER TABLE jobs ADD COLUMN max_retries BIGINT NOT NULL DEFAULT 0 CHECK (max_retries >= 0);
ALTER TABLE jobs ADD COLUMN max_infra BIGINT NOT NULL DEFAULT 3 CHECK (max_infra >= 0);
ALTER TABLE jobs ADD COLUMN backoff_initial_ms BIGINT NOT NULL DEFAULT 2000 CHECK (backoff_initial_ms >= 0);
ALTER TABLE jobs ADD COLUMN backoff_factor DOUBLE PRECISION NOT NULL DEFAULT 2.0 CHECK (backoff_factor >= 1);
ALTER TABLE jobs ADD COLUMN backoff_cap_ms BIGINT NOT NULL DEFAULT 3600000 CHECK (backoff_cap_ms >= 0);
ALTER TABLE jobs ADD COLUMN retry_of TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN deadline BIGINT;
ALTER TABLE jobs ADD COLUMN ttl_ms BIGINT CHECK (ttl_ms >= 0);
ALTER TABLE jobs ADD COLUMN timeout_ms BIGINT CHECK (timeout_ms >= 0);
ALTER TABLE jobs ADD COLUMN cancel_requested_at BIGINT;
ALTER TABLE jobs ADD COLUMN stop_reason TEXT COLLATE "C" CHECK (stop_reason IN ('cancel', 'superseded'));

CREATE UNIQUE INDEX idx_jobs_retry_of ON jobs (retry_of) WHERE retry_of IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_once_per_generation ON jobs (job_type, subject_key, generation)
  WHERE subject_key IS NOT NULL AND retry_of IS NULL AND state <> 'SUPERSEDED';
CREATE INDEX idx_jobs_running_by_session ON jobs (session_id, is_suspect) WHERE state = 'RUNNING';
CREATE INDEX idx_jobs_suspect ON jobs (is_suspect, queued_at, number) WHERE state = 'QUEUED' AND is_suspect = 1;
CREATE INDEX idx_jobs_ttl ON jobs ((queued_at + ttl_ms), number) WHERE state = 'QUEUED' AND ttl_ms IS NOT NULL;
CREATE INDEX idx_jobs_deadline ON jobs (deadline, number) WHERE state IN ('SCHEDULED', 'QUEUED') AND deadline IS NOT NULL;
CREATE INDEX idx_jobs_stop_requested ON jobs (session_id) WHERE state = 'RUNNING' AND stop_reason IS NOT NULL;

ALTER TABLE job_runs ADD COLUMN error_kind TEXT COLLATE "C" CHECK (error_kind IN ('transient', 'permanent', 'infra'));
ALTER TABLE job_runs ADD COLUMN error_code TEXT COLLATE "C";
ALTER TABLE job_runs ADD COLUMN traceback TEXT COLLATE "C";
ALTER TABLE job_runs ADD COLUMN trace_id TEXT COLLATE "C";
ALTER TABLE job_runs ADD COLUMN duration_ms BIGINT;
ALTER TABLE job_runs ADD COLUMN pid BIGINT;
ALTER TABLE job_runs ADD COLUMN pid_started_at BIGINT;

CREATE TABLE workers (
  id           TEXT COLLATE "C" PRIMARY KEY,
  session_id   TEXT COLLATE "C" NOT NULL REFERENCES sessions (id),
  name         TEXT COLLATE "C" NOT NULL,
  tasks        TEXT COLLATE "C" NOT NULL,
  queues       TEXT COLLATE "C" NOT NULL,
  slots        BIGINT NOT NULL CHECK (slots >= 0),
  connected_at BIGINT NOT NULL,
  seen_at      BIGINT NOT NULL
);

CREATE INDEX idx_workers_session ON workers (session_id);
