-- What apps have registered, and one row for each call of a handler or a timer.

CREATE TABLE listeners (
  id                    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  app_key               TEXT COLLATE "C" NOT NULL,
  instance_index        BIGINT NOT NULL DEFAULT 0,
  name                  TEXT COLLATE "C" NOT NULL,
  handler_method        TEXT COLLATE "C" NOT NULL,
  topic                 TEXT COLLATE "C" NOT NULL,
  debounce_ms           BIGINT,
  throttle_ms           BIGINT,
  once                  BIGINT NOT NULL DEFAULT 0 CHECK (once IN (0, 1)),
  per                   TEXT COLLATE "C" NOT NULL CHECK (per IN ('name', 'listener')),
  mode                  TEXT COLLATE "C" NOT NULL CHECK (mode IN ('queued', 'parallel', 'single', 'restart')),
  priority              BIGINT NOT NULL DEFAULT 0,
  timeout_ms            BIGINT NOT NULL,
  predicate_description TEXT COLLATE "C",
  source_location       TEXT COLLATE "C" NOT NULL,
  registration_source   TEXT COLLATE "C",
  first_registered_at   BIGINT NOT NULL,
  last_registered_at    BIGINT NOT NULL,
  last_run_at           BIGINT,
  -- Events that were lost, since too many waited.
  events_dropped        BIGINT NOT NULL DEFAULT 0,
  -- When the app no longer registered it.
  retired_at            BIGINT,
  UNIQUE (app_key, instance_index, name),
  FOREIGN KEY (app_key, instance_index) REFERENCES apps (app_key, instance_index)
);

CREATE TABLE scheduled_jobs (
  id                  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  app_key             TEXT COLLATE "C" NOT NULL,
  instance_index      BIGINT NOT NULL DEFAULT 0,
  job_name            TEXT COLLATE "C" NOT NULL,
  handler_method      TEXT COLLATE "C" NOT NULL,
  trigger_type        TEXT COLLATE "C" CHECK (trigger_type IN ('after', 'at', 'interval', 'cron')),
  trigger_value       TEXT COLLATE "C" NOT NULL,
  repeat              BIGINT NOT NULL DEFAULT 0 CHECK (repeat IN (0, 1)),
  args_json           TEXT COLLATE "C" NOT NULL DEFAULT '[]',
  kwargs_json         TEXT COLLATE "C" NOT NULL DEFAULT '{}',
  timeout_ms          BIGINT NOT NULL,
  source_location     TEXT COLLATE "C" NOT NULL,
  registration_source TEXT COLLATE "C",
  first_registered_at BIGINT NOT NULL,
  last_registered_at  BIGINT NOT NULL,
  next_run_at         BIGINT,
  last_run_at         BIGINT,
  -- What a person asked of it, until its owner has done that.
  asked               TEXT COLLATE "C" CHECK (asked IN ('run', 'cancel')),
  retired_at          BIGINT,
  UNIQUE (app_key, instance_index, job_name),
  FOREIGN KEY (app_key, instance_index) REFERENCES apps (app_key, instance_index)
);

CREATE INDEX idx_scheduled_jobs_due ON scheduled_jobs (app_key) WHERE next_run_at IS NOT NULL;
CREATE INDEX idx_scheduled_jobs_asked ON scheduled_jobs (app_key) WHERE asked IS NOT NULL;

CREATE TABLE handler_invocations (
  -- The number of the session times 2^32, and the number of the call in it.
  id              BIGINT PRIMARY KEY,
  listener_id     BIGINT NOT NULL REFERENCES listeners (id),
  session_number  BIGINT NOT NULL,
  started_at      BIGINT NOT NULL,
  duration_ms     DOUBLE PRECISION NOT NULL,
  status          TEXT COLLATE "C" NOT NULL CHECK (status IN ('success', 'error', 'cancelled', 'timed_out')),
  event_id        TEXT COLLATE "C" NOT NULL,
  event_number    BIGINT NOT NULL,
  event_name      TEXT COLLATE "C" NOT NULL,
  fingerprint     TEXT COLLATE "C",
  error_type      TEXT COLLATE "C",
  error_message   TEXT COLLATE "C",
  error_traceback TEXT COLLATE "C"
);

CREATE INDEX idx_handler_invocations_listener ON handler_invocations (listener_id, started_at DESC, id DESC);
CREATE INDEX idx_handler_invocations_failed ON handler_invocations (status, started_at DESC, id DESC)
  WHERE status <> 'success';
CREATE INDEX idx_handler_invocations_started ON handler_invocations (started_at);

CREATE TABLE job_executions (
  -- As of handler_invocations. No id stands in both.
  id              BIGINT PRIMARY KEY,
  job_id          BIGINT NOT NULL REFERENCES scheduled_jobs (id),
  session_number  BIGINT NOT NULL,
  started_at      BIGINT NOT NULL,
  duration_ms     DOUBLE PRECISION NOT NULL,
  status          TEXT COLLATE "C" NOT NULL CHECK (status IN ('success', 'error', 'cancelled', 'timed_out', 'skipped')),
  fire_time       BIGINT,
  fingerprint     TEXT COLLATE "C",
  error_type      TEXT COLLATE "C",
  error_message   TEXT COLLATE "C",
  error_traceback TEXT COLLATE "C"
);

CREATE INDEX idx_job_executions_job ON job_executions (job_id, started_at DESC, id DESC);
CREATE INDEX idx_job_executions_failed ON job_executions (status, started_at DESC, id DESC) WHERE status <> 'success';
CREATE INDEX idx_job_executions_started ON job_executions (started_at);

-- The last batch of rows that its owner has sent. A repeated one changes nothing.
ALTER TABLE apps ADD COLUMN last_batch BIGINT NOT NULL DEFAULT 0;

ALTER TABLE sessions ADD COLUMN error_type TEXT COLLATE "C";
ALTER TABLE sessions ADD COLUMN error_message TEXT COLLATE "C";
ALTER TABLE sessions ADD COLUMN error_traceback TEXT COLLATE "C";
-- Calls of handlers and timers that could not be recorded.
ALTER TABLE sessions ADD COLUMN rows_dropped BIGINT NOT NULL DEFAULT 0;
