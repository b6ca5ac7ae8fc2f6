-- Watches: rules by which changes on the disk become jobs, and what each of them has seen so far.

CREATE TABLE watches (
  id          TEXT PRIMARY KEY,
  name        TEXT NOT NULL UNIQUE,
  node        TEXT NOT NULL,
  origin      TEXT NOT NULL CHECK (origin IN ('api', 'file')),
  kind        TEXT NOT NULL CHECK (kind IN ('folder', 'git')),
  path        TEXT NOT NULL,
  globs       TEXT NOT NULL DEFAULT '[]',
  ignores     TEXT NOT NULL DEFAULT '[]',
  gitignore   INTEGER NOT NULL DEFAULT 1 CHECK (gitignore IN (0, 1)),
  job_type    TEXT,
  queue       TEXT NOT NULL,
  payload     TEXT NOT NULL DEFAULT '{}',
  subject     TEXT,
  tenant      TEXT,
  priority    INTEGER NOT NULL DEFAULT 0,
  debounce_ms INTEGER CHECK (debounce_ms >= 0),
  max_wait_ms INTEGER CHECK (max_wait_ms >= 0),
  max_jobs    INTEGER NOT NULL CHECK (max_jobs >= 1),
  initial     INTEGER NOT NULL DEFAULT 0 CHECK (initial IN (0, 1)),
  enabled     INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  revision    INTEGER NOT NULL DEFAULT 1,
  problem     TEXT,
  scanned_at  INTEGER,
  changed_at  INTEGER,
  changes     INTEGER NOT NULL DEFAULT 0,
  jobs        INTEGER NOT NULL DEFAULT 0,
  -- Changes that are remembered already and belong to a job that is still to be made.
  untold      INTEGER NOT NULL DEFAULT 0 CHECK (untold >= 0),
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX idx_watches_node ON watches (node, name);

CREATE TABLE watch_files (
  watch_id    TEXT NOT NULL REFERENCES watches (id) ON DELETE CASCADE,
  path        TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  PRIMARY KEY (watch_id, path)
) STRICT, WITHOUT ROWID;
