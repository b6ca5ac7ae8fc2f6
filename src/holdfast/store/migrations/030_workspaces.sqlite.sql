-- Workspaces: a program and a home that live long, what a person wants of them, and what was seen of them.

-- The owner of what is made by the socket, or with the token of the home. No token has such a hash, and as it is disabled,
-- its name is free for others.
INSERT INTO users (id, name, role, token_hash, created_at, disabled_at) VALUES ('local', 'local', 'admin', 'none', 0, 0);

CREATE TABLE workspaces (
  number              INTEGER PRIMARY KEY AUTOINCREMENT,
  id                  TEXT NOT NULL UNIQUE,
  owner_user_id       TEXT NOT NULL REFERENCES users (id),
  name                TEXT NOT NULL,
  description         TEXT,
  memo                TEXT,
  image_ref           TEXT,
  instance_backend    TEXT NOT NULL DEFAULT 'local-process' CHECK (instance_backend IN ('local-process', 'local-docker', 'k8s')),
  storage_backend     TEXT NOT NULL DEFAULT 'local-dir' CHECK (storage_backend IN ('local-dir', 'docker-volume', 'minio')),
  -- What the names of its homes begin with.
  home_store_key      TEXT NOT NULL,
  -- JSON: `volume` is the home that counts.
  home_ctx            TEXT,
  conditions          TEXT NOT NULL DEFAULT '{}',
  phase               TEXT NOT NULL DEFAULT 'PENDING'
    CHECK (phase IN ('PENDING', 'ARCHIVED', 'STANDBY', 'RUNNING', 'ERROR', 'DELETED')),
  operation           TEXT NOT NULL DEFAULT 'NONE' CHECK (operation IN ('NONE', 'PROVISIONING', 'RESTORING', 'STARTING',
    'STOPPING', 'ARCHIVING', 'CREATE_EMPTY_ARCHIVE', 'DELETING')),
  op_started_at       INTEGER,
  op_id               TEXT,
  op_job_id           TEXT,
  desired_state       TEXT NOT NULL DEFAULT 'RUNNING' CHECK (desired_state IN ('DELETED', 'ARCHIVED', 'STANDBY', 'RUNNING')),
  archive_key         TEXT,
  observed_at         INTEGER,
  last_access_at      INTEGER,
  standby_ttl_seconds INTEGER NOT NULL DEFAULT 300 CHECK (standby_ttl_seconds >= 0),
  archive_ttl_seconds INTEGER NOT NULL DEFAULT 86400 CHECK (archive_ttl_seconds >= 0),
  error_reason        TEXT CHECK (error_reason IN ('Timeout', 'RetryExceeded', 'ActionFailed', 'DataLost', 'Unreachable',
    'ImagePullFailed', 'ContainerWithoutVolume', 'ArchiveCorrupted')),
  -- Failures in a row.
  error_count         INTEGER NOT NULL DEFAULT 0 CHECK (error_count >= 0),
  created_at          INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL,
  deleted_at          INTEGER,
  -- The id of the machine that it is on.
  node                TEXT NOT NULL,
  command             TEXT NOT NULL,
  env                 TEXT NOT NULL DEFAULT '{}',
  port                INTEGER CHECK (port BETWEEN 1 AND 65535),
  -- JSON: the process of its instance, stored before its program begins.
  instance_ctx        TEXT,
  -- Raised by every write of the controller and of an operation. What was seen of an older one is ignored.
  generation          INTEGER NOT NULL DEFAULT 0,
  phase_changed_at    INTEGER NOT NULL,
  CHECK ((operation = 'NONE') = (op_id IS NULL)),
  CHECK ((operation = 'NONE') = (op_job_id IS NULL)),
  CHECK ((operation = 'NONE') = (op_started_at IS NULL))
) STRICT;

CREATE UNIQUE INDEX idx_workspaces_name ON workspaces (name) WHERE deleted_at IS NULL;
CREATE INDEX idx_workspaces_node ON workspaces (node, number) WHERE deleted_at IS NULL;
CREATE INDEX idx_workspaces_ttl_check ON workspaces (phase_changed_at)
  WHERE deleted_at IS NULL AND phase IN ('RUNNING', 'STANDBY') AND operation = 'NONE';
CREATE INDEX idx_workspaces_reconcile ON workspaces (node, number)
  WHERE deleted_at IS NULL AND (phase <> desired_state OR operation <> 'NONE');
CREATE INDEX idx_workspaces_operation ON workspaces (op_job_id) WHERE deleted_at IS NULL AND operation <> 'NONE';
CREATE INDEX idx_workspaces_user_running ON workspaces (owner_user_id, number)
  WHERE deleted_at IS NULL AND (phase = 'RUNNING' OR desired_state = 'RUNNING');
CREATE INDEX idx_workspaces_running ON workspaces (number)
  WHERE deleted_at IS NULL AND (phase = 'RUNNING' OR desired_state = 'RUNNING');
CREATE INDEX idx_workspaces_error ON workspaces (number) WHERE deleted_at IS NULL AND phase = 'ERROR';
CREATE INDEX idx_workspaces_archived ON workspaces (phase_changed_at) WHERE deleted_at IS NULL AND phase = 'ARCHIVED';

-- Who wanted what of a workspace, and when.
CREATE TABLE workspace_changes (
  number       INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  from_state   TEXT,
  to_state     TEXT NOT NULL CHECK (to_state IN ('DELETED', 'ARCHIVED', 'STANDBY', 'RUNNING')),
  at           INTEGER NOT NULL,
  trigger      TEXT,
  why          TEXT NOT NULL CHECK (why IN ('user', 'ttl', 'wake', 'limit', 'admin'))
) STRICT;

CREATE INDEX idx_workspace_changes ON workspace_changes (workspace_id, number);

-- The session that looks after the workspaces of a machine.
CREATE TABLE controllers (
  node       TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  taken_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
