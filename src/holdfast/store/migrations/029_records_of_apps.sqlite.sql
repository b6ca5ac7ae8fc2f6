-- What apps have registered, and one row for each call of a handler or a timer.

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

-- The last batch of rows that its owner has sent. A repeated one changes nothing.
ALTER TABLE apps ADD COLUMN last_batch INTEGER NOT NULL DEFAULT 0;

ALTER TABLE sessions ADD COLUMN error_type TEXT;
ALTER TABLE sessions ADD COLUMN error_message TEXT;
ALTER TABLE sessions ADD COLUMN error_traceback TEXT;
-- Calls of handlers and timers that could not be recorded.
ALTER TABLE sessions ADD COLUMN rows_dropped INTEGER NOT NULL DEFAULT 0;
