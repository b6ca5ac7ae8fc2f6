-- Phase 3: jobs that wait for a time, for an event or for each other; templates and schedules.

CREATE TABLE job_templates (
  id          TEXT PRIMARY KEY,
  name        TEXT NOT NULL,
  job_type    TEXT NOT NULL,
  queue       TEXT NOT NULL,
  payload     TEXT NOT NULL DEFAULT '{}',
  options     TEXT NOT NULL DEFAULT '{}',
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  archived_at INTEGER
) STRICT;

CREATE UNIQUE INDEX idx_job_templates_name ON job_templates (name) WHERE archived_at IS NULL;

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
  created_at        INTEGER NOT NULL
) STRICT;

CREATE INDEX idx_schedules_next ON schedules (next_trigger_at) WHERE enabled = 1;

ALTER TABLE jobs ADD COLUMN schedule_type TEXT NOT NULL DEFAULT 'IMMEDIATE'
  CHECK (schedule_type IN ('IMMEDIATE', 'AT', 'AFTER', 'CONDITION'));
ALTER TABLE jobs ADD COLUMN scheduled_at INTEGER;
ALTER TABLE jobs ADD COLUMN schedule_delay_ms INTEGER CHECK (schedule_delay_ms >= 0);
ALTER TABLE jobs ADD COLUMN open_conditions INTEGER NOT NULL DEFAULT 0 CHECK (open_conditions >= 0);
ALTER TABLE jobs ADD COLUMN wait_for_idle INTEGER NOT NULL DEFAULT 0 CHECK (wait_for_idle IN (0, 1));
ALTER TABLE jobs ADD COLUMN require_charging INTEGER NOT NULL DEFAULT 0 CHECK (require_charging IN (0, 1));
ALTER TABLE jobs ADD COLUMN wait_for_event TEXT;
ALTER TABLE jobs ADD COLUMN template_id TEXT REFERENCES job_templates (id);
ALTER TABLE jobs ADD COLUMN schedule_id TEXT;
ALTER TABLE jobs ADD COLUMN fire_time INTEGER;

ALTER TABLE job_runs ADD COLUMN template_id TEXT;

CREATE INDEX idx_jobs_due ON jobs (scheduled_at, number)
  WHERE state = 'SCHEDULED' AND open_conditions = 0 AND scheduled_at IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_once_per_tick ON jobs (schedule_id, fire_time)
  WHERE schedule_id IS NOT NULL AND fire_time IS NOT NULL AND retry_of IS NULL;

CREATE TABLE job_conditions (
  job_id       TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  key          TEXT NOT NULL,
  value        TEXT NOT NULL,
  satisfied_at INTEGER,
  PRIMARY KEY (job_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_job_conditions_lookup ON job_conditions (key, value, job_id) WHERE satisfied_at IS NULL;
