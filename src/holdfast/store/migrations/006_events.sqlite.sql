-- Events and who waits for them, lanes for jobs that wait for the machine, and what the machines are like.

CREATE TABLE events (
  id           TEXT PRIMARY KEY,
  name         TEXT NOT NULL,
  attributes   TEXT NOT NULL DEFAULT '{}',
  emitted_at   INTEGER NOT NULL,
  trigger      TEXT,
  -- The newest job at that moment: those that come later wait for the next event.
  upto_number  INTEGER NOT NULL,
  is_spreading INTEGER NOT NULL DEFAULT 0 CHECK (is_spreading IN (0, 1))
) STRICT;

CREATE INDEX idx_events_emitted ON events (emitted_at, id);
CREATE INDEX idx_events_name ON events (name, id);
CREATE INDEX idx_events_spreading ON events (emitted_at, id) WHERE is_spreading = 1;

-- What is waited for: a name, or the beginning of one and `*`, and the names of the attributes that matter.
-- A webhook has its own rows; those of jobs carry no webhook.
CREATE TABLE event_patterns (
  pattern    TEXT NOT NULL,
  attributes TEXT NOT NULL DEFAULT '[]',
  webhook_id TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (pattern, attributes, webhook_id)
) STRICT, WITHOUT ROWID;

ALTER TABLE job_conditions ADD COLUMN satisfied_by TEXT;
CREATE INDEX idx_job_conditions_satisfied_by ON job_conditions (satisfied_by) WHERE satisfied_by IS NOT NULL;

CREATE TABLE machines (
  node        TEXT PRIMARY KEY,
  is_idle     INTEGER NOT NULL CHECK (is_idle IN (0, 1)),
  is_charging INTEGER NOT NULL CHECK (is_charging IN (0, 1)),
  detail      TEXT NOT NULL DEFAULT '{}',
  source      TEXT NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT;

-- 1 waits for an idle machine, 2 for a charging one, 3 for both; a claim walks past no job of a lane that is closed.
ALTER TABLE jobs ADD COLUMN lane INTEGER GENERATED ALWAYS AS (wait_for_idle + 2 * require_charging) VIRTUAL;

DROP INDEX idx_jobs_pop;
CREATE INDEX idx_jobs_pop ON jobs (queue, lane, priority DESC, position, created_at, id)
  WHERE state = 'QUEUED';
DROP INDEX idx_jobs_commands;
CREATE INDEX idx_jobs_commands ON jobs (queue, lane, priority DESC, position, created_at, id)
  WHERE state = 'QUEUED' AND job_type = 'command';
CREATE INDEX idx_jobs_gated ON jobs (queue, lane) WHERE state = 'QUEUED' AND lane > 0;
CREATE INDEX idx_jobs_schedule ON jobs (schedule_id, number) WHERE schedule_id IS NOT NULL;
