-- Watches: rules by which changes on the disk become jobs, and what each of them has seen so far.

CREATE TABLE watches (
  id          TEXT COLLATE "C" PRIMARY KEY,
  name        TEXT COLLATE "C" NOT NULL UNIQUE,
  node        TEXT COLLATE "C" NOT NULL,
  origin      TEXT COLLATE "C" NOT NULL CHECK (origin IN ('api', 'file')),
  kind        TEXT COLLATE "C" NOT NULL CHECK (kind IN ('folder', 'git')),
  path        TEXT COLLATE "C" NOT NULL,
  globs       TEXT COLLATE "C" NOT NULL DEFAULT '[]',
  ignores     TEXT COLLATE "C" NOT NULL DEFAULT '[]',
  gitignore   BIGINT NOT NULL DEFAULT 1 CHECK (gitignore IN (0, 1)),
  job_type    TEXT COLLATE "C",
  queue       TEXT COLLATE "C" NOT NULL,
  payload     TEXT COLLATE "C" NOT NULL DEFAULT '{}',
  subject     TEXT COLLATE "C",
  tenant      TEXT COLLATE "C",
  priority    BIGINT NOT NULL DEFAULT 0,
  debounce_ms BIGINT CHECK (debounce_ms >= 0),
  max_wait_ms BIGINT CHECK (max_wait_ms >= 0),
  max_jobs    BIGINT NOT NULL CHECK (max_jobs >= 1),
  initial     BIGINT NOT NULL DEFAULT 0 CHECK (initial IN (0, 1)),
  enabled     BIGINT NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  revision    BIGINT NOT NULL DEFAULT 1,
  problem     TEXT COLLATE "C",
  scanned_at  BIGINT,
  changed_at  BIGINT,
  changes     BIGINT NOT NULL DEFAULT 0,
  jobs        BIGINT NOT NULL DEFAULT 0,
  -- Changes that are remembered already and belong to a job that is still to be made.
  untold      BIGINT NOT NULL DEFAULT 0 CHECK (untold >= 0),
  created_at  BIGINT NOT NULL,
  updated_at  BIGINT NOT NULL
);

CREATE INDEX idx_watches_node ON watches (node, name);

CREATE TABLE watch_files (
  watch_id    TEXT COLLATE "C" NOT NULL REFERENCES watches (id) ON DELETE CASCADE,
  path        TEXT COLLATE "C" NOT NULL,
  fingerprint TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (watch_id, path)
);
