-- Settings of queues: how many starts in a time, what to do when it is full, and what its jobs do unless they say.

ALTER TABLE queues ADD COLUMN rate_limit INTEGER CHECK (rate_limit >= 1);
ALTER TABLE queues ADD COLUMN rate_window_ms INTEGER
  CHECK ((rate_window_ms IS NULL) = (rate_limit IS NULL) AND coalesce(rate_window_ms, 1) >= 1);
-- When the window has room again; NULL: nobody has to be told.
ALTER TABLE queues ADD COLUMN opens_at INTEGER;
ALTER TABLE queues ADD COLUMN overflow TEXT NOT NULL DEFAULT 'reject' CHECK (overflow IN ('reject', 'shed'));
-- A retry policy as JSON.
ALTER TABLE queues ADD COLUMN retry TEXT;
ALTER TABLE queues ADD COLUMN timeout_ms INTEGER CHECK (timeout_ms >= 0);
CREATE INDEX idx_queues_opens ON queues (opens_at) WHERE opens_at IS NOT NULL;

-- How many jobs a queue with a rate started at a moment, and in all by then. Only what a window can see is kept.
CREATE TABLE queue_starts (
  queue      TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  starts     INTEGER NOT NULL CHECK (starts >= 1),
  total      INTEGER NOT NULL CHECK (total >= starts),
  PRIMARY KEY (queue, started_at)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX idx_queue_starts_total ON queue_starts (queue, total);
