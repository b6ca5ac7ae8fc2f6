-- What workers declare of their tasks, so that a request by name gets the options of its task.

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

ALTER TABLE watches ADD COLUMN priority_said INTEGER;
UPDATE watches SET priority_said = nullif(priority, 0);
ALTER TABLE watches DROP COLUMN priority;
ALTER TABLE watches ADD COLUMN priority INTEGER;
UPDATE watches SET priority = priority_said;
ALTER TABLE watches DROP COLUMN priority_said;
