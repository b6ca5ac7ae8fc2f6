-- Which files a job of a watch is about, and more that a watch says about its jobs.

-- How long a file must have stopped changing.
ALTER TABLE watches ADD COLUMN settle_ms INTEGER CHECK (settle_ms >= 0);
ALTER TABLE watches ADD COLUMN timeout_ms INTEGER CHECK (timeout_ms >= 0);
-- A retry policy as JSON.
ALTER TABLE watches ADD COLUMN retry TEXT;
ALTER TABLE watches ADD COLUMN cpu INTEGER NOT NULL DEFAULT 0 CHECK (cpu >= 0);
ALTER TABLE watches ADD COLUMN gpu INTEGER NOT NULL DEFAULT 0 CHECK (gpu >= 0);
ALTER TABLE watches ADD COLUMN io INTEGER NOT NULL DEFAULT 0 CHECK (io >= 0);
-- What keeps changes from becoming jobs, in words.
ALTER TABLE watches ADD COLUMN waits_for TEXT;

-- Changes that are counted in `untold`, as far as they are kept.
CREATE TABLE watch_changes (
  watch_id TEXT NOT NULL REFERENCES watches (id) ON DELETE CASCADE,
  path     TEXT NOT NULL,
  change   TEXT NOT NULL CHECK (change IN ('added', 'modified', 'deleted')),
  PRIMARY KEY (watch_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE changed_files (
  job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  path   TEXT NOT NULL,
  change TEXT NOT NULL CHECK (change IN ('added', 'modified', 'deleted')),
  PRIMARY KEY (job_id, path)
) STRICT, WITHOUT ROWID;

-- One row for each job that has `changed_files`; paths are seen from `root`.
CREATE TABLE changed_file_lists (
  job_id    TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
  root      TEXT NOT NULL,
  total     INTEGER NOT NULL CHECK (total >= 0),
  truncated INTEGER NOT NULL CHECK (truncated IN (0, 1))
) STRICT, WITHOUT ROWID;
