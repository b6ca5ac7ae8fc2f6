-- Phase 3: jobs that wait for a time, for an event or for each other; templates and schedules.

CREATE TABLE job_templates (
  id          TEXT COLLATE "C" PRIMARY KEY,
  name        TEXT COLLATE "C" NOT NULL,
  job_type    TEXT COLLATE "C" NOT NULL,
  queue       TEXT COLLATE "C" NOT NULL,
  payload     TEXT COLLATE "C" NOT NULL DEFAULT '{}',
  options     TEXT COLLATE "C" NOT NULL DEFAULT '{}',
  created_at  BIGINT NOT NULL,
  updated_at  BIGINT NOT NULL,
  archived_at BIGINT
);

CREATE UNIQUE INDEX idx_job_templates_name ON job_templates (name) WHERE archived_at IS NULL;

CREATE TABLE schedules (
  id                TEXT COLLATE "C" PRIMARY KEY,
  template_id       TEXT COLLATE "C" NOT NULL REFERENCES job_templates (id),
  name              TEXT COLLATE "C" NOT NULL UNIQUE,
  cron_expression   TEXT COLLATE "C" NOT NULL,
  timezone          TEXT COLLATE "C" NOT NULL DEFAULT 'UTC',
  enabled           BIGINT NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  disabled_reason   TEXT COLLATE "C",
  param_overrides   TEXT COLLATE "C",
  misfire           TEXT COLLATE "C" NOT NULL DEFAULT 'latest' CHECK (misfire IN ('skip', 'latest', 'all')),
  overlap           TEXT COLLATE "C" NOT NULL DEFAULT 'skip' CHECK (overlap IN ('allow', 'skip', 'supersede')),
  jitter_ms         BIGINT NOT NULL DEFAULT 0 CHECK (jitter_ms >= 0),
  last_fire_time    BIGINT,
  last_triggered_at BIGINT,
  next_trigger_at   BIGINT,
  created_at        BIGINT NOT NULL
);

CREATE INDEX idx_schedules_next ON schedules (next_trigger_at) WHERE enabled = 1;

ALTER TABLE jobs ADD COLUMN schedule_type TEXT COLLATE "C" NOT NULL DEFAULT 'IMMEDIATE'
  CHECK (schedule_type IN ('IMMEDIATE', 'AT', 'AFTER', 'CONDITION'));
ALTER TABLE jobs ADD COLUMN scheduled_at BIGINT;
ALTER TABLE jobs ADD COLUMN schedule_delay_ms BIGINT CHECK (schedule_delay_ms >= 0);
ALTER TABLE jobs ADD COLUMN open_conditions BIGINT NOT NULL DEFAULT 0 CHECK (open_conditions >= 0);
ALTER TABLE jobs ADD COLUMN wait_for_idle BIGINT NOT NULL DEFAULT 0 CHECK (wait_for_idle IN (0, 1));
ALTER TABLE jobs ADD COLUMN require_charging BIGINT NOT NULL DEFAULT 0 CHECK (require_charging IN (0, 1));
ALTER TABLE jobs ADD COLUMN wait_for_event TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN template_id TEXT COLLATE "C" REFERENCES job_templates (id);
ALTER TABLE jobs ADD COLUMN schedule_id TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN fire_time BIGINT;

ALTER TABLE job_runs ADD COLUMN template_id TEXT COLLATE "C";

CREATE INDEX idx_jobs_due ON jobs (scheduled_at, number)
  WHERE state = 'SCHEDULED' AND open_conditions = 0 AND scheduled_at IS NOT NULL;
CREATE UNIQUE INDEX idx_jobs_once_per_tick ON jobs (schedule_id, fire_time)
  WHERE schedule_id IS NOT NULL AND fire_time IS NOT NULL AND retry_of IS NULL;

CREATE TABLE job_conditions (
  job_id       TEXT COLLATE "C" NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  key          TEXT COLLATE "C" NOT NULL,
  value        TEXT COLLATE "C" NOT NULL,
  satisfied_at BIGINT,
  PRIMARY KEY (job_id, key)
);

CREATE INDEX idx_job_conditions_lookup ON job_conditions (key, value, job_id) WHERE satisfied_at IS NULL;
