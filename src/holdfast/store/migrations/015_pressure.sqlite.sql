-- What the machines ask for: which queues are held back, how often jobs are pulled, and what is refused at the door.

-- 0: nothing is held back, 1: heavy queues, 2: all but light ones.
ALTER TABLE machines ADD COLUMN holds INTEGER NOT NULL DEFAULT 0 CHECK (holds IN (0, 1, 2));
ALTER TABLE machines ADD COLUMN pull_interval_ms INTEGER NOT NULL DEFAULT 0 CHECK (pull_interval_ms >= 0);
-- A list of what presses now, as JSON.
ALTER TABLE machines ADD COLUMN pressure TEXT NOT NULL DEFAULT '[]';
-- Why new jobs are refused, and until when unless the probe says it again.
ALTER TABLE machines ADD COLUMN refuses TEXT CHECK (refuses IN ('wal', 'disk'));
ALTER TABLE machines ADD COLUMN refuses_until INTEGER CHECK ((refuses_until IS NULL) = (refuses IS NULL));
CREATE INDEX idx_machines_refuse ON machines (refuses_until) WHERE refuses_until IS NOT NULL;

-- From when on a session may pull again while its machine is busy; NULL: nobody has to be told.
ALTER TABLE sessions ADD COLUMN pulls_at INTEGER;
CREATE INDEX idx_sessions_pulls ON sessions (pulls_at) WHERE pulls_at IS NOT NULL;

-- Queues whose jobs wait for too long, or are mostly superseded before they run.
CREATE TABLE queue_pressure (
  queue   TEXT NOT NULL,
  reading TEXT NOT NULL CHECK (reading IN ('wait', 'superseded')),
  says    TEXT NOT NULL,
  since   INTEGER NOT NULL,
  PRIMARY KEY (queue, reading)
) STRICT, WITHOUT ROWID;

-- Since when the run has been asked to make room; it may go on.
ALTER TABLE job_runs ADD COLUMN yield_asked_at INTEGER;
CREATE INDEX idx_job_runs_yield ON job_runs (session_id) WHERE status IS NULL AND yield_asked_at IS NOT NULL;

-- How much its jobs burden the machine. Queues used to be light unless somebody said that they are heavy.
ALTER TABLE queues ADD COLUMN burden TEXT NOT NULL DEFAULT 'normal' CHECK (burden IN ('light', 'normal', 'heavy'));
UPDATE queues SET burden = 'heavy' WHERE class = 'heavy';
ALTER TABLE queues DROP COLUMN class;
