-- What workers declare of their tasks, so that a request by name gets the options of its task.

CREATE TABLE task_versions (
  task        TEXT COLLATE "C" NOT NULL,
  digest      TEXT COLLATE "C" NOT NULL,
  options     TEXT NOT NULL,
  arguments   TEXT NOT NULL,
  source      TEXT,
  doc         TEXT,
  -- Since when workers offer it, later than any other version that is offered; 0 while none does.
  live_since  BIGINT NOT NULL CHECK (live_since >= 0),
  offered_at  BIGINT NOT NULL,
  declared_at BIGINT NOT NULL,
  PRIMARY KEY (task, digest)
);

CREATE INDEX idx_task_versions_newest ON task_versions (task, live_since DESC, offered_at DESC);

CREATE TABLE task_offers (
  worker_id TEXT COLLATE "C" NOT NULL REFERENCES workers (id) ON DELETE CASCADE,
  task      TEXT COLLATE "C" NOT NULL,
  digest    TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (worker_id, task)
);

CREATE INDEX idx_task_offers_version ON task_offers (task, digest);

-- A template or watch that names no queue leaves it to the task; so far nobody could tell that from `default`. The
-- columns are made anew, because SQLite cannot drop their NOT NULL.
ALTER TABLE job_templates ADD COLUMN queue_said TEXT;
UPDATE job_templates SET queue_said = nullif(queue, 'default');
ALTER TABLE job_templates DROP COLUMN queue;
ALTER TABLE job_templates ADD COLUMN queue TEXT;
UPDATE job_templates SET queue = queue_said;
ALTER TABLE job_templates DROP COLUMN queue_said;

ALTER TABLE watches ADD COLUMN queue_said TEXT;
UPDATE watches SET queue_said = nullif(queue, 'default');
ALTER TABLE watches DROP COLUMN queue;
ALTER TABLE watches ADD COLUMN queue TEXT;
UPDATE watches SET queue = queue_said;
ALTER TABLE watches DROP COLUMN queue_said;

ALTER TABLE watches ADD COLUMN priority_said BIGINT;
UPDATE watches SET priority_said = nullif(priority, 0);
ALTER TABLE watches DROP COLUMN priority;
ALTER TABLE watches ADD COLUMN priority BIGINT;
UPDATE watches SET priority = priority_said;
ALTER TABLE watches DROP COLUMN priority_said;
