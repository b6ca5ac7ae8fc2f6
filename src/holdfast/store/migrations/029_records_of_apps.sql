-- What apps have registered, and one row for each call of a handler or a timer.

CREATE TABLE listeners (
  id                    @number,
  app_key               @key NOT NULL,
  instance_index        @integer NOT NULL DEFAULT 0,
  name                  @key NOT NULL,
  handler_method        @key NOT NULL,
  topic                 @key NOT NULL,
  debounce_ms           @integer,
  throttle_ms           @integer,
  once                  @integer NOT NULL DEFAULT 0 CHECK (once IN (0, 1)),
  per                   @key NOT NULL CHECK (per IN ('name', 'listener')),
  mode                  @key NOT NULL CHECK (mode IN ('queued', 'parallel', 'single', 'restart')),
  priority              @integer NOT NULL DEFAULT 0,
  timeout_ms            @integer NOT NULL,
  predicate_description @key,
  source_location       @key NOT NULL,
  registration_source   @key,
  first_registered_at   @integer NOT NULL,
  last_registered_at    @integer NOT NULL,
  last_run_at           @integer,
  -- Events that were lost, since too many waited.
  events_dropped        @integer NOT NULL DEFAULT 0,
  -- When the app no longer registered it.
  retired_at            @integer,
  UNIQUE (app_key, instance_index, name),
  FOREIGN KEY (app_key, instance_index) REFERENCES apps (app_key, instance_index)
) @strict;

CREATE TABLE scheduled_jobs (
  id                  @number,
  app_key             @key NOT NULL,
  instance_index      @integer NOT NULL DEFAULT 0,
  job_name            @key NOT NULL,
  handler_method      @key NOT NULL,
  trigger_type        @key CHECK (trigger_type IN ('after', 'at', 'interval', 'cron')),
  trigger_value       @key NOT NULL,
  repeat              @integer NOT NULL DEFAULT 0 CHECK (repeat IN (0, 1)),
  args_json           @key NOT NULL DEFAULT '[]',
  kwargs_json         @key NOT NULL DEFAULT '{}',
  timeout_ms          @integer NOT NULL,
  source_location     @key NOT NULL,
  registration_source @key,
  first_registered_at @integer NOT NULL,
  last_registered_at  @integer NOT NULL,
  next_run_at         @integer,
  last_run_at         @integer,
  -- What a person asked of it, until its owner has done that.
  asked               @key CHECK (asked IN ('run', 'cancel')),
  retired_at          @integer,
  UNIQUE (app_key, instance_index, job_name),
  FOREIGN KEY (app_key, instance_index) REFERENCES apps (app_key, instance_index)
) @strict;

CREATE INDEX idx_scheduled_jobs_due ON scheduled_jobs (app_key) WHERE next_run_at IS NOT NULL;
CREATE INDEX idx_scheduled_jobs_asked ON scheduled_jobs (app_key) WHERE asked IS NOT NULL;

CREATE TABLE handler_invocations (
  -- The number of the session times 2^32, and the number of the call in it.
  id              @integer PRIMARY KEY,
  listener_id     @integer NOT NULL REFERENCES listeners (id),
  session_number  @integer NOT NULL,
  started_at      @integer NOT NULL,
  duration_ms     @real NOT NULL,
  status          @key NOT NULL CHECK (status IN ('success', 'error', 'cancelled', 'timed_out')),
  event_id        @key NOT NULL,
  event_number    @integer NOT NULL,
  event_name      @key NOT NULL,
  fingerprint     @key,
  error_type      @key,
  error_message   @key,
  error_traceback @key
) @strict;

CREATE INDEX idx_handler_invocations_listener ON handler_invocations (listener_id, started_at DESC, id DESC);
CREATE INDEX idx_handler_invocations_failed ON handler_invocations (status, started_at DESC, id DESC)
  WHERE status <> 'success';
CREATE INDEX idx_handler_invocations_started ON handler_invocations (started_at);

CREATE TABLE job_executions (
  -- As of handler_invocations. No id stands in both.
  id              @integer PRIMARY KEY,
  job_id          @integer NOT NULL REFERENCES scheduled_jobs (id),
  session_number  @integer NOT NULL,
  started_at      @integer NOT NULL,
  duration_ms     @real NOT NULL,
  status          @key NOT NULL CHECK (status IN ('success', 'error', 'cancelled', 'timed_out', 'skipped')),
  fire_time       @integer,
  fingerprint     @key,
  error_type      @key,
  error_message   @key,
  error_traceback @key
) @strict;

CREATE INDEX idx_job_executions_job ON job_executions (job_id, started_at DESC, id DESC);
CREATE INDEX idx_job_executions_failed ON job_executions (status, started_at DESC, id DESC) WHERE status <> 'success';
CREATE INDEX idx_job_executions_started ON job_executions (started_at);

-- The last batch of rows that its owner has sent. A repeated one changes nothing.
ALTER TABLE apps ADD COLUMN last_batch @integer NOT NULL DEFAULT 0;

ALTER TABLE sessions ADD COLUMN error_type @key;
ALTER TABLE sessions ADD COLUMN error_message @key;
ALTER TABLE sessions ADD COLUMN error_traceback @key;
-- Calls of handlers and timers that could not be recorded.
ALTER TABLE sessions ADD COLUMN rows_dropped @integer NOT NULL DEFAULT 0;
