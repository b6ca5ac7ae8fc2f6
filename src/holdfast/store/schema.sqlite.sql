-- The whole schema as the migrations make it, but for schema_version, which the migrations keep for themselves.
-- Merged from them by `python -m tests.store.schema_files`.

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
  -- From when on a session may pull again while its machine is busy; NULL: nobody has to be told.
  pulls_at          INTEGER,
  -- Only who knows the secret speaks for the session. One that was opened without goes on without.
  secret_hash       TEXT,
  -- The name that its machine gives itself: processes are known by their numbers only where that is the same.
  host              TEXT NOT NULL DEFAULT '',
  -- In the order in which they were opened. What a session makes by itself is numbered by it.
  number            INTEGER,
  error_type        TEXT,
  error_message     TEXT,
  error_traceback   TEXT,
  -- Calls of handlers and timers that could not be recorded.
  rows_dropped      INTEGER NOT NULL DEFAULT 0,
  CHECK ((status = 'running') = (stopped_at IS NULL))
) STRICT;

CREATE INDEX idx_sessions_running ON sessions (id) WHERE status = 'running';
CREATE INDEX idx_sessions_pulls ON sessions (pulls_at) WHERE pulls_at IS NOT NULL;
CREATE UNIQUE INDEX idx_sessions_number ON sessions (number);

CREATE TABLE queues (
  name           TEXT PRIMARY KEY,
  concurrency    INTEGER CHECK (concurrency >= 0),
  max_length     INTEGER CHECK (max_length >= 0),
  paused_at      INTEGER,
  pause_reason   TEXT,
  rate_limit     INTEGER CHECK (rate_limit >= 1),
  rate_window_ms INTEGER
    CHECK ((rate_window_ms IS NULL) = (rate_limit IS NULL) AND coalesce(rate_window_ms, 1) >= 1),
  -- When the window has room again; NULL: nobody has to be told.
  opens_at       INTEGER,
  overflow       TEXT NOT NULL DEFAULT 'reject' CHECK (overflow IN ('reject', 'shed')),
  -- A retry policy as JSON.
  retry          TEXT,
  timeout_ms     INTEGER CHECK (timeout_ms >= 0),
  -- How much its jobs burden the machine. Queues used to be light unless somebody said that they are heavy.
  burden         TEXT NOT NULL DEFAULT 'normal' CHECK (burden IN ('light', 'normal', 'heavy')),
  -- After so many infra failures in a row, for so long; 0 failures: never.
  breaker        INTEGER NOT NULL DEFAULT 5 CHECK (breaker >= 0),
  breaker_for_ms INTEGER NOT NULL DEFAULT 30000 CHECK (breaker_for_ms >= 1)
) STRICT;

CREATE INDEX idx_queues_opens ON queues (opens_at) WHERE opens_at IS NOT NULL;

CREATE TABLE subjects (
  job_type    TEXT NOT NULL,
  subject_key TEXT NOT NULL,
  generation  INTEGER NOT NULL CHECK (generation >= 0),
  updated_at  INTEGER NOT NULL,
  PRIMARY KEY (job_type, subject_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_templates (
  id          TEXT PRIMARY KEY,
  name        TEXT NOT NULL,
  job_type    TEXT NOT NULL,
  payload     TEXT NOT NULL DEFAULT '{}',
  options     TEXT NOT NULL DEFAULT '{}',
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  archived_at INTEGER,
  queue       TEXT
) STRICT;

CREATE UNIQUE INDEX idx_job_templates_name ON job_templates (name) WHERE archived_at IS NULL;

CREATE TABLE job_groups (
  id          TEXT PRIMARY KEY,
  name        TEXT,
  mode        TEXT NOT NULL DEFAULT 'parallel' CHECK (mode IN ('parallel', 'sequential')),
  on_failure  TEXT NOT NULL DEFAULT 'stop' CHECK (on_failure IN ('stop', 'continue', 'skip')),
  created_at  INTEGER NOT NULL,
  -- Since when the group goes on again after it had ended, the last time that happened.
  reopened_at INTEGER
) STRICT;

CREATE INDEX idx_groups_name ON job_groups (name, id) WHERE name IS NOT NULL;

CREATE TABLE jobs (
  number              INTEGER PRIMARY KEY AUTOINCREMENT,
  id                  TEXT NOT NULL UNIQUE,
  queue               TEXT NOT NULL,
  job_type            TEXT NOT NULL,
  subject_key         TEXT,
  generation          INTEGER CHECK (generation >= 0),
  priority            INTEGER NOT NULL DEFAULT 0,
  position            INTEGER NOT NULL,
  state               TEXT NOT NULL CHECK (state IN (
    'QUEUED', 'SCHEDULED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED', 'SUPERSEDED',
    'SKIPPED_TTL', 'SKIPPED_DEADLINE')),
  created_at          INTEGER NOT NULL,
  queued_at           INTEGER,
  started_at          INTEGER,
  finished_at         INTEGER,
  session_id          TEXT REFERENCES sessions (id),
  worker_id           TEXT,
  run_id              TEXT,
  payload             TEXT NOT NULL,
  log_path            TEXT,
  error_code          TEXT,
  reason              TEXT,
  trace_id            TEXT,
  execution_mode      TEXT NOT NULL DEFAULT 'IN_PROCESS'
    CHECK (execution_mode IN ('IN_PROCESS', 'SUBPROCESS')),
  env_vars            TEXT,
  attempts            INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  transient_tries     INTEGER NOT NULL DEFAULT 0 CHECK (transient_tries >= 0),
  infra_tries         INTEGER NOT NULL DEFAULT 0 CHECK (infra_tries >= 0),
  deaths              INTEGER NOT NULL DEFAULT 0 CHECK (deaths >= 0),
  is_suspect          INTEGER NOT NULL DEFAULT 0 CHECK (is_suspect IN (0, 1)),
  retry_mode          TEXT NOT NULL DEFAULT 'REQUEUE' CHECK (retry_mode IN ('REQUEUE', 'CHAIN')),
  max_retries         INTEGER NOT NULL DEFAULT 0 CHECK (max_retries >= 0),
  max_infra           INTEGER NOT NULL DEFAULT 3 CHECK (max_infra >= 0),
  backoff_initial_ms  INTEGER NOT NULL DEFAULT 2000 CHECK (backoff_initial_ms >= 0),
  backoff_factor      REAL NOT NULL DEFAULT 2.0 CHECK (backoff_factor >= 1),
  backoff_cap_ms      INTEGER NOT NULL DEFAULT 3600000 CHECK (backoff_cap_ms >= 0),
  retry_of            TEXT,
  deadline            INTEGER,
  ttl_ms              INTEGER CHECK (ttl_ms >= 0),
  timeout_ms          INTEGER CHECK (timeout_ms >= 0),
  cancel_requested_at INTEGER,
  stop_reason         TEXT CHECK (stop_reason IN ('cancel', 'superseded')),
  schedule_type       TEXT NOT NULL DEFAULT 'IMMEDIATE'
    CHECK (schedule_type IN ('IMMEDIATE', 'AT', 'AFTER', 'CONDITION')),
  scheduled_at        INTEGER,
  schedule_delay_ms   INTEGER CHECK (schedule_delay_ms >= 0),
  open_conditions     INTEGER NOT NULL DEFAULT 0 CHECK (open_conditions >= 0),
  wait_for_idle       INTEGER NOT NULL DEFAULT 0 CHECK (wait_for_idle IN (0, 1)),
  require_charging    INTEGER NOT NULL DEFAULT 0 CHECK (require_charging IN (0, 1)),
  wait_for_event      TEXT,
  template_id         TEXT REFERENCES job_templates (id),
  schedule_id         TEXT,
  fire_time           INTEGER,
  parent_job_id       TEXT,
  group_id            TEXT REFERENCES job_groups (id),
  -- Set in sequential groups only.
  group_seq           INTEGER,
  user_tag            TEXT,
  tenant              TEXT NOT NULL DEFAULT 'default',
  idempotency_key     TEXT,
  trigger             TEXT,
  result_summary      TEXT,
  artifact_path       TEXT,
  checkpoint          TEXT,
  progress            REAL CHECK (progress BETWEEN 0 AND 1),
  progress_text       TEXT,
  cpu                 INTEGER NOT NULL DEFAULT 0 CHECK (cpu >= 0),
  gpu                 INTEGER NOT NULL DEFAULT 0 CHECK (gpu >= 0),
  io                  INTEGER NOT NULL DEFAULT 0 CHECK (io >= 0),
  -- Since when others have passed it because it did not fit; and whether its priority has grown for that.
  tokens_since        INTEGER,
  has_aged            INTEGER NOT NULL DEFAULT 0 CHECK (has_aged IN (0, 1)),
  -- The number of the machine that alone may run it; 0: any.
  node                INTEGER NOT NULL DEFAULT 0 CHECK (node >= 0),
  -- Bits: 1 waits for an idle machine, 2 for a charging one, 4, 8 and 16 for tokens of cpu, gpu and io; from 32 on it is the
  -- machine that it is tied to. A claim walks past no job of a lane that is closed.
  lane                INTEGER GENERATED ALWAYS AS (wait_for_idle + 2 * require_charging
    + CASE WHEN cpu > 0 THEN 4 ELSE 0 END + CASE WHEN gpu > 0 THEN 8 ELSE 0 END + CASE WHEN io > 0 THEN 16 ELSE 0 END
    + 32 * node) VIRTUAL,
  -- Whether a newer generation asks the running one to stop.
  stop_older          INTEGER NOT NULL DEFAULT 0 CHECK (stop_older IN (0, 1)),
  -- The job that a person had run once more; this one is the other try.
  retried_from        TEXT,
  CHECK ((subject_key IS NULL) = (generation IS NULL)),
  CHECK ((finished_at IS NOT NULL) = (state NOT IN ('SCHEDULED', 'QUEUED', 'RUNNING'))),
  CHECK ((run_id IS NOT NULL) = (state = 'RUNNING')),
  CHECK ((session_id IS NOT NULL) = (state = 'RUNNING')),
  CHECK (state <> 'QUEUED' OR queued_at IS NOT NULL),
  CHECK (state <> 'RUNNING' OR started_at IS NOT NULL)
) STRICT;

CREATE INDEX idx_jobs_subject_generation ON jobs (subject_key, job_type, generation DESC)
  WHERE subject_key IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_one_running_per_subject ON jobs (job_type, subject_key)
  WHERE state = 'RUNNING' AND subject_key IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_one_waiting_per_subject ON jobs (job_type, subject_key)
  WHERE state IN ('SCHEDULED', 'QUEUED') AND subject_key IS NOT NULL;
-- Without the ready jobs: idx_jobs_pop has those, and no planner shall be tempted to pop by this one.
CREATE INDEX idx_jobs_state_queue ON jobs (state, queue, number) WHERE state <> 'QUEUED';
CREATE INDEX idx_jobs_gc ON jobs (finished_at, number) WHERE finished_at IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_retry_of ON jobs (retry_of) WHERE retry_of IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_once_per_generation ON jobs (job_type, subject_key, generation)
  WHERE subject_key IS NOT NULL AND retry_of IS NULL AND state <> 'SUPERSEDED';
CREATE INDEX idx_jobs_running_by_session ON jobs (session_id, is_suspect) WHERE state = 'RUNNING';
CREATE INDEX idx_jobs_suspect ON jobs (is_suspect, queued_at, number) WHERE state = 'QUEUED' AND is_suspect = 1;
CREATE INDEX idx_jobs_ttl ON jobs ((queued_at + ttl_ms), number) WHERE state = 'QUEUED' AND ttl_ms IS NOT NULL;
CREATE INDEX idx_jobs_deadline ON jobs (deadline, number) WHERE state IN ('SCHEDULED', 'QUEUED') AND deadline IS NOT NULL;
CREATE INDEX idx_jobs_stop_requested ON jobs (session_id) WHERE state = 'RUNNING' AND stop_reason IS NOT NULL;
CREATE INDEX idx_jobs_due ON jobs (scheduled_at, number)
  WHERE state = 'SCHEDULED' AND open_conditions = 0 AND scheduled_at IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_once_per_tick ON jobs (schedule_id, fire_time)
  WHERE schedule_id IS NOT NULL AND fire_time IS NOT NULL AND retry_of IS NULL;
CREATE INDEX idx_jobs_user_tag ON jobs (user_tag, number) WHERE user_tag IS NOT NULL;
CREATE INDEX idx_jobs_group ON jobs (group_id, group_seq) WHERE group_id IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_one_running_per_sequence ON jobs (group_id)
  WHERE state = 'RUNNING' AND group_seq IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_idempotency ON jobs (job_type, idempotency_key)
  WHERE idempotency_key IS NOT NULL AND retry_of IS NULL;
CREATE INDEX idx_jobs_schedule ON jobs (schedule_id, number) WHERE schedule_id IS NOT NULL;
CREATE INDEX idx_jobs_open_of_schedule ON jobs (schedule_id, number)
  WHERE schedule_id IS NOT NULL AND finished_at IS NULL;
CREATE INDEX idx_jobs_passed ON jobs (tokens_since, number) WHERE state = 'QUEUED' AND tokens_since IS NOT NULL;
CREATE INDEX idx_jobs_pop ON jobs (queue, lane, tenant, priority DESC, position, created_at, id)
  WHERE state = 'QUEUED';
CREATE INDEX idx_jobs_commands ON jobs (queue, lane, tenant, priority DESC, position, created_at, id)
  WHERE state = 'QUEUED' AND job_type = 'command';
CREATE INDEX idx_jobs_gated ON jobs (queue, lane) WHERE state = 'QUEUED' AND (lane & 31) > 0;
CREATE INDEX idx_jobs_tied ON jobs (state, lane, number) WHERE node > 0 AND state IN ('SCHEDULED', 'QUEUED');
CREATE INDEX idx_jobs_holding_tokens ON jobs (session_id, started_at, cpu, gpu, io)
  WHERE state = 'RUNNING' AND (lane & 31) > 3;
CREATE INDEX idx_jobs_retried_from ON jobs (retried_from) WHERE retried_from IS NOT NULL;
CREATE INDEX idx_jobs_group_live ON jobs (group_id, number) WHERE group_id IS NOT NULL AND finished_at IS NULL;

CREATE TRIGGER jobs_ended_is_final
BEFORE UPDATE OF state ON jobs
WHEN OLD.finished_at IS NOT NULL AND NEW.state <> OLD.state
BEGIN
  SELECT RAISE(ABORT, 'a job that has ended never changes its state');
END;

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
  error_kind      TEXT CHECK (error_kind IN ('transient', 'permanent', 'infra')),
  error_code      TEXT,
  traceback       TEXT,
  trace_id        TEXT,
  duration_ms     INTEGER,
  pid             INTEGER,
  pid_started_at  INTEGER,
  template_id     TEXT,
  -- Since when the run has been asked to make room; it may go on.
  yield_asked_at  INTEGER,
  CHECK ((status IS NULL) = (finished_at IS NULL))
) STRICT;

CREATE UNIQUE INDEX idx_job_runs_of_job ON job_runs (job_id, attempt);
CREATE UNIQUE INDEX idx_job_runs_open ON job_runs (job_id) WHERE status IS NULL;
CREATE INDEX idx_job_runs_yield ON job_runs (session_id) WHERE status IS NULL AND yield_asked_at IS NOT NULL;

-- A closed run is history. Its artifacts may grow at their end, and the place of its log may be told late.
CREATE TRIGGER job_runs_closed_is_final
BEFORE UPDATE ON job_runs
WHEN OLD.status IS NOT NULL AND (
  NEW.id IS NOT OLD.id OR NEW.job_id IS NOT OLD.job_id OR NEW.attempt IS NOT OLD.attempt
  OR NEW.status IS NOT OLD.status OR NEW.session_id IS NOT OLD.session_id OR NEW.worker_id IS NOT OLD.worker_id
  OR NEW.params_snapshot IS NOT OLD.params_snapshot OR NEW.started_at IS NOT OLD.started_at
  OR NEW.finished_at IS NOT OLD.finished_at OR NEW.exit_code IS NOT OLD.exit_code OR NEW.error IS NOT OLD.error
  OR NEW.error_kind IS NOT OLD.error_kind OR NEW.error_code IS NOT OLD.error_code
  OR NEW.traceback IS NOT OLD.traceback OR NEW.trace_id IS NOT OLD.trace_id
  OR NEW.duration_ms IS NOT OLD.duration_ms OR NEW.pid IS NOT OLD.pid
  OR NEW.pid_started_at IS NOT OLD.pid_started_at OR NEW.template_id IS NOT OLD.template_id
  OR NEW.yield_asked_at IS NOT OLD.yield_asked_at
  OR (OLD.log_path IS NOT NULL AND NEW.log_path IS NOT OLD.log_path)
  OR (NEW.artifacts IS NOT OLD.artifacts AND (
    CASE
      WHEN coalesce(OLD.artifacts, '[]') = '[]' THEN NEW.artifacts LIKE '[%]'
      ELSE NEW.artifacts LIKE '%]'
        AND substr(NEW.artifacts, 1, length(OLD.artifacts)) = substr(OLD.artifacts, 1, length(OLD.artifacts) - 1) || ','
    END) IS NOT TRUE))
BEGIN
  SELECT RAISE(ABORT, 'a closed run never changes');
END;

-- Counts per queue and state, kept by the database so that nobody has to scan.
CREATE TABLE queue_counts (
  queue TEXT NOT NULL,
  state TEXT NOT NULL,
  jobs  INTEGER NOT NULL,
  PRIMARY KEY (queue, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE workers (
  id           TEXT PRIMARY KEY,
  session_id   TEXT NOT NULL REFERENCES sessions (id),
  name         TEXT NOT NULL,
  tasks        TEXT NOT NULL,
  queues       TEXT NOT NULL,
  slots        INTEGER NOT NULL CHECK (slots >= 0),
  connected_at INTEGER NOT NULL
) STRICT;

CREATE INDEX idx_workers_session ON workers (session_id);

CREATE TABLE schedules (
  id                TEXT PRIMARY KEY,
  template_id       TEXT NOT NULL REFERENCES job_templates (id),
  name              TEXT NOT NULL UNIQUE,
  cron_expression   TEXT NOT NULL,
  timezone          TEXT NOT NULL DEFAULT 'UTC',
  enabled           INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  disabled_reason   TEXT,
  param_overrides   TEXT,
  misfire           TEXT NOT NULL DEFAULT 'latest' CHECK (misfire IN ('skip', 'latest', 'all')),
  overlap           TEXT NOT NULL DEFAULT 'skip' CHECK (overlap IN ('allow', 'skip', 'supersede')),
  jitter_ms         INTEGER NOT NULL DEFAULT 0 CHECK (jitter_ms >= 0),
  last_fire_time    INTEGER,
  last_triggered_at INTEGER,
  next_trigger_at   INTEGER,
  created_at        INTEGER NOT NULL,
  updated_at        INTEGER NOT NULL DEFAULT 0,
  fires             INTEGER NOT NULL DEFAULT 0 CHECK (fires >= 0),
  origin            TEXT NOT NULL DEFAULT 'api' CHECK (origin IN ('api', 'code')),
  owner             TEXT
) STRICT;

CREATE INDEX idx_schedules_next ON schedules (next_trigger_at) WHERE enabled = 1;
CREATE INDEX idx_schedules_settled ON schedules (last_fire_time) WHERE enabled = 1;
CREATE INDEX idx_schedules_template ON schedules (template_id);

CREATE TABLE job_conditions (
  job_id       TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  key          TEXT NOT NULL,
  value        TEXT NOT NULL,
  satisfied_at INTEGER,
  satisfied_by TEXT,
  PRIMARY KEY (job_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_job_conditions_lookup ON job_conditions (key, value, job_id) WHERE satisfied_at IS NULL;
CREATE INDEX idx_job_conditions_satisfied_by ON job_conditions (satisfied_by) WHERE satisfied_by IS NOT NULL;

CREATE TABLE tenants (
  queue        TEXT NOT NULL,
  tenant       TEXT NOT NULL,
  weight       INTEGER NOT NULL DEFAULT 10 CHECK (weight > 0),
  virtual_time REAL NOT NULL DEFAULT 0,
  active_until INTEGER,
  is_waiting   INTEGER NOT NULL DEFAULT 0 CHECK (is_waiting IN (0, 1)),
  starts       INTEGER NOT NULL DEFAULT 0 CHECK (starts >= 0),
  PRIMARY KEY (queue, tenant)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_tenants_waiting ON tenants (queue, virtual_time, tenant) WHERE is_waiting = 1;

-- What is waited for: a name, or the beginning of one and `*`, and the names of the attributes that matter.
-- A webhook has its own rows; those of jobs carry no webhook.
CREATE TABLE event_patterns (
  pattern    TEXT NOT NULL,
  attributes TEXT NOT NULL DEFAULT '[]',
  -- Empty: jobs. Otherwise the id of a webhook.
  owner      TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (pattern, attributes, owner)
) STRICT, WITHOUT ROWID;

CREATE TABLE machines (
  node             TEXT PRIMARY KEY,
  is_idle          INTEGER NOT NULL CHECK (is_idle IN (0, 1)),
  is_charging      INTEGER NOT NULL CHECK (is_charging IN (0, 1)),
  detail           TEXT NOT NULL DEFAULT '{}',
  source           TEXT NOT NULL,
  updated_at       INTEGER NOT NULL,
  -- 0: nothing is held back, 1: heavy queues, 2: all but light ones.
  holds            INTEGER NOT NULL DEFAULT 0 CHECK (holds IN (0, 1, 2)),
  pull_interval_ms INTEGER NOT NULL DEFAULT 0 CHECK (pull_interval_ms >= 0),
  -- A list of what presses now, as JSON.
  pressure         TEXT NOT NULL DEFAULT '[]',
  -- Why new jobs are refused, and until when unless the probe says it again.
  refuses          TEXT CHECK (refuses IN ('wal', 'disk')),
  refuses_until    INTEGER CHECK ((refuses_until IS NULL) = (refuses IS NULL))
) STRICT;

CREATE INDEX idx_machines_refuse ON machines (refuses_until) WHERE refuses_until IS NOT NULL;

CREATE TABLE schedule_skips (
  schedule_id    TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
  reason         TEXT NOT NULL,
  ticks          INTEGER NOT NULL CHECK (ticks > 0),
  last_fire_time INTEGER NOT NULL,
  PRIMARY KEY (schedule_id, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE watches (
  id          TEXT PRIMARY KEY,
  name        TEXT NOT NULL UNIQUE,
  node        TEXT NOT NULL,
  origin      TEXT NOT NULL CHECK (origin IN ('api', 'file')),
  kind        TEXT NOT NULL CHECK (kind IN ('folder', 'git')),
  path        TEXT NOT NULL,
  globs       TEXT NOT NULL DEFAULT '[]',
  ignores     TEXT NOT NULL DEFAULT '[]',
  gitignore   INTEGER NOT NULL DEFAULT 1 CHECK (gitignore IN (0, 1)),
  job_type    TEXT,
  payload     TEXT NOT NULL DEFAULT '{}',
  subject     TEXT,
  tenant      TEXT,
  debounce_ms INTEGER CHECK (debounce_ms >= 0),
  max_wait_ms INTEGER CHECK (max_wait_ms >= 0),
  max_jobs    INTEGER NOT NULL CHECK (max_jobs >= 1),
  initial     INTEGER NOT NULL DEFAULT 0 CHECK (initial IN (0, 1)),
  enabled     INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  revision    INTEGER NOT NULL DEFAULT 1,
  problem     TEXT,
  scanned_at  INTEGER,
  changed_at  INTEGER,
  changes     INTEGER NOT NULL DEFAULT 0,
  jobs        INTEGER NOT NULL DEFAULT 0,
  -- Changes that are remembered already and belong to a job that is still to be made.
  untold      INTEGER NOT NULL DEFAULT 0 CHECK (untold >= 0),
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  -- How long a file must have stopped changing.
  settle_ms   INTEGER CHECK (settle_ms >= 0),
  timeout_ms  INTEGER CHECK (timeout_ms >= 0),
  -- A retry policy as JSON.
  retry       TEXT,
  cpu         INTEGER NOT NULL DEFAULT 0 CHECK (cpu >= 0),
  gpu         INTEGER NOT NULL DEFAULT 0 CHECK (gpu >= 0),
  io          INTEGER NOT NULL DEFAULT 0 CHECK (io >= 0),
  -- What keeps changes from becoming jobs, in words.
  waits_for   TEXT,
  queue       TEXT,
  priority    INTEGER
) STRICT;

CREATE INDEX idx_watches_node ON watches (node, name);

CREATE TABLE watch_files (
  watch_id    TEXT NOT NULL REFERENCES watches (id) ON DELETE CASCADE,
  path        TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  PRIMARY KEY (watch_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE webhooks (
  id              TEXT PRIMARY KEY,
  name            TEXT NOT NULL UNIQUE,
  url             TEXT NOT NULL,
  secret          TEXT NOT NULL,
  -- The secret before, which signs beside the new one until that moment.
  previous_secret TEXT,
  previous_until  INTEGER,
  patterns        TEXT NOT NULL,
  is_enabled      INTEGER NOT NULL DEFAULT 1 CHECK (is_enabled IN (0, 1)),
  disabled_reason TEXT,
  timeout_ms      INTEGER CHECK (timeout_ms > 0),
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  CHECK (is_enabled = 0 OR disabled_reason IS NULL),
  CHECK ((previous_secret IS NULL) = (previous_until IS NULL))
) STRICT;

CREATE TABLE webhook_deliveries (
  id         TEXT PRIMARY KEY,
  webhook_id TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  event_id   TEXT NOT NULL,
  event_name TEXT NOT NULL,
  job_id     TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX idx_webhook_deliveries_newest ON webhook_deliveries (webhook_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX idx_webhook_deliveries_job ON webhook_deliveries (job_id);
CREATE INDEX idx_webhook_deliveries_event ON webhook_deliveries (event_id);

CREATE TABLE direct_reservations (
  id          TEXT PRIMARY KEY,
  scope       TEXT NOT NULL,
  reserved_by TEXT NOT NULL,
  session_id  TEXT NOT NULL REFERENCES sessions (id),
  status      TEXT NOT NULL CHECK (status IN ('WAITING', 'ACTIVE', 'RELEASED', 'EXPIRED')),
  ttl_ms      INTEGER NOT NULL CHECK (ttl_ms > 0),
  reserved_at INTEGER NOT NULL,
  granted_at  INTEGER,
  expires_at  INTEGER NOT NULL,
  ended_at    INTEGER,
  CHECK ((status IN ('WAITING', 'ACTIVE')) = (ended_at IS NULL))
) STRICT;

CREATE UNIQUE INDEX idx_reservations_active ON direct_reservations (scope) WHERE status = 'ACTIVE';
CREATE INDEX idx_reservations_waiting ON direct_reservations (reserved_at, id) WHERE status = 'WAITING';
CREATE INDEX idx_reservations_session ON direct_reservations (session_id);

-- '*' is everything, and everything excludes each queue.
CREATE TRIGGER reservations_exclude_each_other
BEFORE INSERT ON direct_reservations
WHEN NEW.status = 'ACTIVE' AND EXISTS (
  SELECT 1 FROM direct_reservations
  WHERE status = 'ACTIVE' AND (scope = NEW.scope OR scope = '*' OR NEW.scope = '*'))
BEGIN
  SELECT RAISE(ABORT, 'the scope is reserved');
END;

CREATE TRIGGER reservations_leave_the_line_one_by_one
BEFORE UPDATE OF status ON direct_reservations
WHEN NEW.status = 'ACTIVE' AND OLD.status <> 'ACTIVE' AND EXISTS (
  SELECT 1 FROM direct_reservations
  WHERE status = 'ACTIVE' AND (scope = NEW.scope OR scope = '*' OR NEW.scope = '*'))
BEGIN
  SELECT RAISE(ABORT, 'the scope is reserved');
END;

CREATE TABLE queue_clocks (
  queue        TEXT PRIMARY KEY,
  virtual_time REAL NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- How many jobs a queue with a rate started at a moment, and in all by then. Only what a window can see is kept.
CREATE TABLE queue_starts (
  queue      TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  starts     INTEGER NOT NULL CHECK (starts >= 1),
  total      INTEGER NOT NULL CHECK (total >= starts),
  PRIMARY KEY (queue, started_at)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX idx_queue_starts_total ON queue_starts (queue, total);

-- A job that failed before there were fingerprints has an empty one until it is computed.
CREATE TABLE dead_letters (
  job_id      TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
  number      INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  kind        TEXT NOT NULL CHECK (kind IN ('transient', 'permanent', 'infra')),
  failed_at   INTEGER NOT NULL,
  closed_at   INTEGER,
  closed_as   TEXT CHECK (closed_as IN ('retried', 'discarded', 'outdated')),
  closed_by   TEXT,
  reason      TEXT,
  retried_as  TEXT,
  CHECK ((closed_at IS NULL) = (closed_as IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_dead_letters_open ON dead_letters (fingerprint, number, failed_at) WHERE closed_at IS NULL;

-- Who decided is kept: what a machine has by itself is found out anew, what somebody decided stays.
CREATE TABLE node_tokens (
  node       TEXT PRIMARY KEY,
  cpu        INTEGER NOT NULL CHECK (cpu >= 0),
  gpu        INTEGER NOT NULL CHECK (gpu >= 0),
  io         INTEGER NOT NULL CHECK (io >= 0),
  timeout_ms INTEGER NOT NULL CHECK (timeout_ms >= 0),
  set_by     TEXT NOT NULL CHECK (set_by IN ('default', 'settings', 'hand')),
  -- No run that began before this moment was measured against these numbers.
  set_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Queues whose jobs wait for too long, or are mostly superseded before they run.
CREATE TABLE queue_pressure (
  queue   TEXT NOT NULL,
  reading TEXT NOT NULL CHECK (reading IN ('wait', 'superseded')),
  says    TEXT NOT NULL,
  since   INTEGER NOT NULL,
  PRIMARY KEY (queue, reading)
) STRICT, WITHOUT ROWID;

-- A queue has a row from its first infra failure until a run ends in another way.
CREATE TABLE queue_breakers (
  queue         TEXT PRIMARY KEY,
  failures      INTEGER NOT NULL CHECK (failures >= 1),
  failed_at     INTEGER NOT NULL,
  reason        TEXT NOT NULL,
  opened_at     INTEGER,
  half_opens_at INTEGER CHECK ((half_opens_at IS NULL) = (opened_at IS NULL)),
  -- Everybody was told that one job may try.
  is_half_open  INTEGER NOT NULL DEFAULT 0 CHECK (is_half_open IN (0, 1) AND (is_half_open = 0 OR opened_at IS NOT NULL)),
  -- The job that tries, or tried last.
  probe         TEXT CHECK (probe IS NULL OR is_half_open = 1)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_queue_breakers_opens ON queue_breakers (half_opens_at) WHERE half_opens_at IS NOT NULL AND is_half_open = 0;

CREATE TABLE maintenance (
  task   TEXT PRIMARY KEY,
  due_at INTEGER NOT NULL,
  job_id TEXT
) STRICT, WITHOUT ROWID;

-- Changes that are counted in `untold`, as far as they are kept.
CREATE TABLE watch_changes (
  watch_id TEXT NOT NULL REFERENCES watches (id) ON DELETE CASCADE,
  path     TEXT NOT NULL,
  change   TEXT NOT NULL CHECK (change IN ('added', 'modified', 'deleted')),
  PRIMARY KEY (watch_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE changed_files (
  job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  path   TEXT NOT NULL,
  change TEXT NOT NULL CHECK (change IN ('added', 'modified', 'deleted')),
  PRIMARY KEY (job_id, path)
) STRICT, WITHOUT ROWID;

-- One row for each job that has `changed_files`; paths are seen from `root`.
CREATE TABLE changed_file_lists (
  job_id    TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
  root      TEXT NOT NULL,
  total     INTEGER NOT NULL CHECK (total >= 0),
  truncated INTEGER NOT NULL CHECK (truncated IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
  id           TEXT PRIMARY KEY,
  name         TEXT NOT NULL,
  role         TEXT NOT NULL CHECK (role IN ('metrics', 'read', 'operate', 'admin')),
  token_hash   TEXT NOT NULL UNIQUE,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER,
  last_used_at INTEGER,
  disabled_at  INTEGER
) STRICT, WITHOUT ROWID;

-- A name that was revoked is free again.
CREATE UNIQUE INDEX idx_users_name ON users (name) WHERE disabled_at IS NULL;

CREATE TABLE clock_steps (
  number        INTEGER PRIMARY KEY AUTOINCREMENT,
  -- By the clock as it is after the step; it cannot have shown anything before `stepped_at` since then.
  noted_at      INTEGER NOT NULL,
  stepped_at    INTEGER NOT NULL,
  step_ms       INTEGER NOT NULL,
  -- Of this step and all before it.
  total_ms      INTEGER NOT NULL,
  -- The newest job there was. Those up to it are moved in the order of queue and number, and have been up to the cursor.
  upto_number   INTEGER NOT NULL,
  cursor_queue  TEXT NOT NULL DEFAULT '',
  cursor_number INTEGER NOT NULL DEFAULT 0,
  moved         INTEGER NOT NULL DEFAULT 0,
  ended_at      INTEGER
) STRICT;

CREATE INDEX idx_clock_steps_open ON clock_steps (number) WHERE ended_at IS NULL;

CREATE TABLE task_versions (
  task        TEXT NOT NULL,
  digest      TEXT NOT NULL,
  options     TEXT NOT NULL,
  arguments   TEXT NOT NULL,
  source      TEXT,
  doc         TEXT,
  -- Since when workers offer it, later than any other version that is offered; 0 while none does.
  live_since  INTEGER NOT NULL CHECK (live_since >= 0),
  offered_at  INTEGER NOT NULL,
  declared_at INTEGER NOT NULL,
  PRIMARY KEY (task, digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_task_versions_newest ON task_versions (task, live_since DESC, offered_at DESC);

CREATE TABLE task_offers (
  worker_id TEXT NOT NULL REFERENCES workers (id) ON DELETE CASCADE,
  task      TEXT NOT NULL,
  digest    TEXT NOT NULL,
  PRIMARY KEY (worker_id, task)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_task_offers_version ON task_offers (task, digest);

CREATE TABLE nodes (
  -- What jobs say they are tied to; never given to another one.
  number  INTEGER PRIMARY KEY AUTOINCREMENT,
  -- Before machines had ids, the name was all that was known of one: there it stands for the id until the machine is back.
  id      TEXT NOT NULL UNIQUE,
  name    TEXT NOT NULL UNIQUE,
  -- When a session of it last began.
  seen_at INTEGER NOT NULL
) STRICT;

-- Somebody asks the machine that has them for bytes of a run's log or of an artifact; removed once they are read, or after a
-- minute.
CREATE TABLE file_requests (
  id          TEXT PRIMARY KEY,
  node        TEXT NOT NULL,
  run_id      TEXT NOT NULL,
  what        TEXT NOT NULL CHECK (what IN ('log', 'tail', 'artifact', 'artifacts')),
  name        TEXT,
  -- The offset of the first byte; of a tail, how many lines.
  start       INTEGER NOT NULL CHECK (start >= 0),
  most        INTEGER NOT NULL CHECK (most BETWEEN 0 AND 262144),
  is_answered INTEGER NOT NULL DEFAULT 0 CHECK (is_answered IN (0, 1)),
  -- The answer: where its bytes begin, and where the whole ends by now; or why there is none.
  begins      INTEGER,
  ends        INTEGER,
  data        BLOB CHECK (length(data) <= 262144),
  problem     TEXT,
  CHECK ((what = 'artifact') = (name IS NOT NULL)),
  CHECK (is_answered = 0 OR data IS NOT NULL OR problem IS NOT NULL)
) STRICT;

CREATE TABLE events (
  -- Never given twice, and given under the lock of the writers: in the order of the commits.
  number       INTEGER PRIMARY KEY AUTOINCREMENT,
  id           TEXT NOT NULL,
  name         TEXT NOT NULL,
  attributes   TEXT NOT NULL DEFAULT '{}',
  emitted_at   INTEGER NOT NULL,
  trigger      TEXT,
  -- The newest job at that moment: those that come later wait for the next event.
  upto_number  INTEGER NOT NULL,
  is_spreading INTEGER NOT NULL DEFAULT 0 CONSTRAINT events_is_spreading_check CHECK (is_spreading IN (0, 1)),
  -- JSON. It stands last, as it may be long and few statements read it.
  data         TEXT
) STRICT;

CREATE UNIQUE INDEX idx_events_id ON events (id);
CREATE INDEX idx_events_emitted ON events (emitted_at, number);
CREATE INDEX idx_events_name ON events (name, number);
CREATE INDEX idx_events_spreading ON events (number) WHERE is_spreading = 1;

CREATE TABLE apps (
  app_key         TEXT NOT NULL,
  instance_index  INTEGER NOT NULL DEFAULT 0 CHECK (instance_index >= 0),
  class           TEXT NOT NULL,
  wanted          TEXT NOT NULL DEFAULT 'running' CHECK (wanted IN ('running', 'stopped')),
  status          TEXT NOT NULL CHECK (status IN ('waiting', 'starting', 'running', 'failed', 'stopped')),
  -- The session that calls its handlers, its owner.
  session_id      TEXT,
  -- When its owner took it.
  started_at      INTEGER,
  error_type      TEXT,
  error_message   TEXT,
  error_traceback TEXT,
  -- The last batch of rows that its owner has sent. A repeated one changes nothing.
  last_batch      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (app_key, instance_index),
  CHECK ((status IN ('waiting', 'stopped')) = (session_id IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_apps_session ON apps (session_id) WHERE session_id IS NOT NULL;

CREATE TABLE listeners (
  id                    INTEGER PRIMARY KEY AUTOINCREMENT,
  app_key               TEXT NOT NULL,
  instance_index        INTEGER NOT NULL DEFAULT 0,
  name                  TEXT NOT NULL,
  handler_method        TEXT NOT NULL,
  topic                 TEXT NOT NULL,
  debounce_ms           INTEGER,
  throttle_ms           INTEGER,
  once                  INTEGER NOT NULL DEFAULT 0 CHECK (once IN (0, 1)),
  per                   TEXT NOT NULL CHECK (per IN ('name', 'listener')),
  mode                  TEXT NOT NULL CHECK (mode IN ('queued', 'parallel', 'single', 'restart')),
  priority              INTEGER NOT NULL DEFAULT 0,
  timeout_ms            INTEGER NOT NULL,
  predicate_description TEXT,
  source_location       TEXT NOT NULL,
  registration_source   TEXT,
  first_registered_at   INTEGER NOT NULL,
  last_registered_at    INTEGER NOT NULL,
  last_run_at           INTEGER,
  -- Events that were lost, since too many waited.
  events_dropped        INTEGER NOT NULL DEFAULT 0,
  -- When the app no longer registered it.
  retired_at            INTEGER,
  UNIQUE (app_key, instance_index, name),
  FOREIGN KEY (app_key, instance_index) REFERENCES apps (app_key, instance_index)
) STRICT;

CREATE TABLE scheduled_jobs (
  id                  INTEGER PRIMARY KEY AUTOINCREMENT,
  app_key             TEXT NOT NULL,
  instance_index      INTEGER NOT NULL DEFAULT 0,
  job_name            TEXT NOT NULL,
  handler_method      TEXT NOT NULL,
  trigger_type        TEXT CHECK (trigger_type IN ('after', 'at', 'interval', 'cron')),
  trigger_value       TEXT NOT NULL,
  repeat              INTEGER NOT NULL DEFAULT 0 CHECK (repeat IN (0, 1)),
  args_json           TEXT NOT NULL DEFAULT '[]',
  kwargs_json         TEXT NOT NULL DEFAULT '{}',
  timeout_ms          INTEGER NOT NULL,
  source_location     TEXT NOT NULL,
  registration_source TEXT,
  first_registered_at INTEGER NOT NULL,
  last_registered_at  INTEGER NOT NULL,
  next_run_at         INTEGER,
  last_run_at         INTEGER,
  -- What a person asked of it, until its owner has done that.
  asked               TEXT CHECK (asked IN ('run', 'cancel')),
  retired_at          INTEGER,
  UNIQUE (app_key, instance_index, job_name),
  FOREIGN KEY (app_key, instance_index) REFERENCES apps (app_key, instance_index)
) STRICT;

CREATE INDEX idx_scheduled_jobs_due ON scheduled_jobs (app_key) WHERE next_run_at IS NOT NULL;
CREATE INDEX idx_scheduled_jobs_asked ON scheduled_jobs (app_key) WHERE asked IS NOT NULL;

CREATE TABLE handler_invocations (
  -- The number of the session times 2^32, and the number of the call in it.
  id              INTEGER PRIMARY KEY,
  listener_id     INTEGER NOT NULL REFERENCES listeners (id),
  session_number  INTEGER NOT NULL,
  started_at      INTEGER NOT NULL,
  duration_ms     REAL NOT NULL,
  status          TEXT NOT NULL CHECK (status IN ('success', 'error', 'cancelled', 'timed_out')),
  event_id        TEXT NOT NULL,
  event_number    INTEGER NOT NULL,
  event_name      TEXT NOT NULL,
  fingerprint     TEXT,
  error_type      TEXT,
  error_message   TEXT,
  error_traceback TEXT
) STRICT;

CREATE INDEX idx_handler_invocations_listener ON handler_invocations (listener_id, started_at DESC, id DESC);
CREATE INDEX idx_handler_invocations_failed ON handler_invocations (status, started_at DESC, id DESC)
  WHERE status <> 'success';
CREATE INDEX idx_handler_invocations_started ON handler_invocations (started_at);

CREATE TABLE job_executions (
  -- As of handler_invocations. No id stands in both.
  id              INTEGER PRIMARY KEY,
  job_id          INTEGER NOT NULL REFERENCES scheduled_jobs (id),
  session_number  INTEGER NOT NULL,
  started_at      INTEGER NOT NULL,
  duration_ms     REAL NOT NULL,
  status          TEXT NOT NULL CHECK (status IN ('success', 'error', 'cancelled', 'timed_out', 'skipped')),
  fire_time       INTEGER,
  fingerprint     TEXT,
  error_type      TEXT,
  error_message   TEXT,
  error_traceback TEXT
) STRICT;

CREATE INDEX idx_job_executions_job ON job_executions (job_id, started_at DESC, id DESC);
CREATE INDEX idx_job_executions_failed ON job_executions (status, started_at DESC, id DESC) WHERE status <> 'success';
CREATE INDEX idx_job_executions_started ON job_executions (started_at);

CREATE TABLE workspaces (
  number              INTEGER PRIMARY KEY AUTOINCREMENT,
  id                  TEXT NOT NULL UNIQUE,
  owner_user_id       TEXT NOT NULL REFERENCES users (id),
  name                TEXT NOT NULL,
  description         TEXT,
  memo                TEXT,
  image_ref           TEXT,
  instance_backend    TEXT NOT NULL DEFAULT 'local-process' CHECK (instance_backend IN ('local-process', 'local-docker', 'k8s')),
  storage_backend     TEXT NOT NULL DEFAULT 'local-dir' CHECK (storage_backend IN ('local-dir', 'docker-volume', 'minio')),
  -- What the names of its homes begin with.
  home_store_key      TEXT NOT NULL,
  -- JSON: `volume` is the home that counts.
  home_ctx            TEXT,
  conditions          TEXT NOT NULL DEFAULT '{}',
  phase               TEXT NOT NULL DEFAULT 'PENDING'
    CHECK (phase IN ('PENDING', 'ARCHIVED', 'STANDBY', 'RUNNING', 'ERROR', 'DELETED')),
  operation           TEXT NOT NULL DEFAULT 'NONE' CHECK (operation IN ('NONE', 'PROVISIONING', 'RESTORING', 'STARTING',
    'STOPPING', 'ARCHIVING', 'CREATE_EMPTY_ARCHIVE', 'DELETING')),
  op_started_at       INTEGER,
  op_id               TEXT,
  op_job_id           TEXT,
  desired_state       TEXT NOT NULL DEFAULT 'RUNNING' CHECK (desired_state IN ('DELETED', 'ARCHIVED', 'STANDBY', 'RUNNING')),
  archive_key         TEXT,
  observed_at         INTEGER,
  last_access_at      INTEGER,
  standby_ttl_seconds INTEGER NOT NULL DEFAULT 300 CHECK (standby_ttl_seconds >= 0),
  archive_ttl_seconds INTEGER NOT NULL DEFAULT 86400 CHECK (archive_ttl_seconds >= 0),
  error_reason        TEXT CHECK (error_reason IN ('Timeout', 'RetryExceeded', 'ActionFailed', 'DataLost', 'Unreachable',
    'ImagePullFailed', 'ContainerWithoutVolume', 'ArchiveCorrupted')),
  -- Failures in a row.
  error_count         INTEGER NOT NULL DEFAULT 0 CHECK (error_count >= 0),
  created_at          INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL,
  deleted_at          INTEGER,
  -- The id of the machine that it is on.
  node                TEXT NOT NULL,
  command             TEXT NOT NULL,
  env                 TEXT NOT NULL DEFAULT '{}',
  port                INTEGER CHECK (port BETWEEN 1 AND 65535),
  -- JSON: the process of its instance, stored before its program begins.
  instance_ctx        TEXT,
  -- Raised by every write of the controller and of an operation. What was seen of an older one is ignored.
  generation          INTEGER NOT NULL DEFAULT 0,
  phase_changed_at    INTEGER NOT NULL,
  CHECK ((operation = 'NONE') = (op_id IS NULL)),
  CHECK ((operation = 'NONE') = (op_job_id IS NULL)),
  CHECK ((operation = 'NONE') = (op_started_at IS NULL))
) STRICT;

CREATE UNIQUE INDEX idx_workspaces_name ON workspaces (name) WHERE deleted_at IS NULL;
CREATE INDEX idx_workspaces_node ON workspaces (node, number) WHERE deleted_at IS NULL;
CREATE INDEX idx_workspaces_ttl_check ON workspaces (phase_changed_at)
  WHERE deleted_at IS NULL AND phase IN ('RUNNING', 'STANDBY') AND operation = 'NONE';
CREATE INDEX idx_workspaces_reconcile ON workspaces (node, number)
  WHERE deleted_at IS NULL AND (phase <> desired_state OR operation <> 'NONE');
CREATE INDEX idx_workspaces_operation ON workspaces (op_job_id) WHERE deleted_at IS NULL AND operation <> 'NONE';
CREATE INDEX idx_workspaces_user_running ON workspaces (owner_user_id, number)
  WHERE deleted_at IS NULL AND (phase = 'RUNNING' OR desired_state = 'RUNNING');
CREATE INDEX idx_workspaces_running ON workspaces (number)
  WHERE deleted_at IS NULL AND (phase = 'RUNNING' OR desired_state = 'RUNNING');
CREATE INDEX idx_workspaces_error ON workspaces (number) WHERE deleted_at IS NULL AND phase = 'ERROR';
CREATE INDEX idx_workspaces_archived ON workspaces (phase_changed_at) WHERE deleted_at IS NULL AND phase = 'ARCHIVED';

-- Who wanted what of a workspace, and when.
CREATE TABLE workspace_changes (
  number       INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  from_state   TEXT,
  to_state     TEXT NOT NULL CHECK (to_state IN ('DELETED', 'ARCHIVED', 'STANDBY', 'RUNNING')),
  at           INTEGER NOT NULL,
  trigger      TEXT,
  why          TEXT NOT NULL CHECK (why IN ('user', 'ttl', 'wake', 'limit', 'admin'))
) STRICT;

CREATE INDEX idx_workspace_changes ON workspace_changes (workspace_id, number);

-- The session that looks after the workspaces of a machine.
CREATE TABLE controllers (
  node       TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  taken_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
