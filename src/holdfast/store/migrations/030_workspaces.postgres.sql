-- Workspaces: a program and a home that live long, what a person wants of them, and what was seen of them.

-- The owner of what is made by the socket, or with the token of the home. No token has such a hash, and as it is disabled,
-- its name is free for others.
INSERT INTO users (id, name, role, token_hash, created_at, disabled_at) VALUES ('local', 'local', 'admin', 'none', 0, 0);

CREATE TABLE workspaces (
  number              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id                  TEXT COLLATE "C" NOT NULL UNIQUE,
  owner_user_id       TEXT COLLATE "C" NOT NULL REFERENCES users (id),
  name                TEXT COLLATE "C" NOT NULL,
  description         TEXT COLLATE "C",
  memo                TEXT COLLATE "C",
  image_ref           TEXT COLLATE "C",
  instance_backend    TEXT COLLATE "C" NOT NULL DEFAULT 'local-process' CHECK (instance_backend IN ('local-process', 'local-docker', 'k8s')),
  storage_backend     TEXT COLLATE "C" NOT NULL DEFAULT 'local-dir' CHECK (storage_backend IN ('local-dir', 'docker-volume', 'minio')),
  -- What the names of its homes begin with.
  home_store_key      TEXT COLLATE "C" NOT NULL,
  -- JSON: `volume` is the home that counts.
  home_ctx            TEXT COLLATE "C",
  conditions          TEXT COLLATE "C" NOT NULL DEFAULT '{}',
  phase               TEXT COLLATE "C" NOT NULL DEFAULT 'PENDING'
    CHECK (phase IN ('PENDING', 'ARCHIVED', 'STANDBY', 'RUNNING', 'ERROR', 'DELETED')),
  operation           TEXT COLLATE "C" NOT NULL DEFAULT 'NONE' CHECK (operation IN ('NONE', 'PROVISIONING', 'RESTORING', 'STARTING',
    'STOPPING', 'ARCHIVING', 'CREATE_EMPTY_ARCHIVE', 'DELETING')),
  op_started_at       BIGINT,
  op_id               TEXT COLLATE "C",
  op_job_id           TEXT COLLATE "C",
  desired_state       TEXT COLLATE "C" NOT NULL DEFAULT 'RUNNING' CHECK (desired_state IN ('DELETED', 'ARCHIVED', 'STANDBY', 'RUNNING')),
  archive_key         TEXT COLLATE "C",
  observed_at         BIGINT,
  last_access_at      BIGINT,
  standby_ttl_seconds BIGINT NOT NULL DEFAULT 300 CHECK (standby_ttl_seconds >= 0),
  archive_ttl_seconds BIGINT NOT NULL DEFAULT 86400 CHECK (archive_ttl_seconds >= 0),
  error_reason        TEXT COLLATE "C" CHECK (error_reason IN ('Timeout', 'RetryExceeded', 'ActionFailed', 'DataLost', 'Unreachable',
    'ImagePullFailed', 'ContainerWithoutVolume', 'ArchiveCorrupted')),
  -- Failures in a row.
  error_count         BIGINT NOT NULL DEFAULT 0 CHECK (error_count >= 0),
  created_at          BIGINT NOT NULL,
  updated_at          BIGINT NOT NULL,
  deleted_at          BIGINT,
  -- The id of the machine that it is on.
  node                TEXT COLLATE "C" NOT NULL,
  command             TEXT COLLATE "C" NOT NULL,
  env                 TEXT COLLATE "C" NOT NULL DEFAULT '{}',
  port                BIGINT CHECK (port BETWEEN 1 AND 65535),
  -- JSON: the process of its instance, stored before its program begins.
  instance_ctx        TEXT COLLATE "C",
  -- Raised by every write of the controller and of an operation. What was seen of an older one is ignored.
  generation          BIGINT NOT NULL DEFAULT 0,
  phase_changed_at    BIGINT NOT NULL,
  CHECK ((operation = 'NONE') = (op_id IS NULL)),
  CHECK ((operation = 'NONE') = (op_job_id IS NULL)),
  CHECK ((operation = 'NONE') = (op_started_at IS NULL))
);

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
  number       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
  from_state   TEXT COLLATE "C",
  to_state     TEXT COLLATE "C" NOT NULL CHECK (to_state IN ('DELETED', 'ARCHIVED', 'STANDBY', 'RUNNING')),
  at           BIGINT NOT NULL,
  trigger      TEXT COLLATE "C",
  why          TEXT COLLATE "C" NOT NULL CHECK (why IN ('user', 'ttl', 'wake', 'limit', 'admin'))
);

CREATE INDEX idx_workspace_changes ON workspace_changes (workspace_id, number);

-- The session that looks after the workspaces of a machine.
CREATE TABLE controllers (
  node       TEXT COLLATE "C" PRIMARY KEY,
  session_id TEXT COLLATE "C" NOT NULL,
  taken_at   BIGINT NOT NULL
);
