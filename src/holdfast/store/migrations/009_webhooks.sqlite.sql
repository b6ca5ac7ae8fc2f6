-- Webhooks: who is told about events over HTTP, and what was sent. Each delivery is a job; how it went is the job's.

CREATE TABLE webhooks (
  id              TEXT PRIMARY KEY,
  name            TEXT NOT NULL UNIQUE,
  url             TEXT NOT NULL,
  secret          TEXT NOT NULL,
  -- The secret before, which signs beside the new one until that moment.
  previous_secret TEXT,
  previous_until  INTEGER,
  patterns        TEXT NOT NULL,
  is_enabled      INTEGER NOT NULL DEFAULT 1 CHECK (is_enabled IN (0, 1)),
  disabled_reason TEXT,
  timeout_ms      INTEGER CHECK (timeout_ms > 0),
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  CHECK (is_enabled = 0 OR disabled_reason IS NULL),
  CHECK ((previous_secret IS NULL) = (previous_until IS NULL))
) STRICT;

CREATE TABLE webhook_deliveries (
  id         TEXT PRIMARY KEY,
  webhook_id TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  event_id   TEXT NOT NULL,
  event_name TEXT NOT NULL,
  job_id     TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX idx_webhook_deliveries_newest ON webhook_deliveries (webhook_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX idx_webhook_deliveries_job ON webhook_deliveries (job_id);
CREATE INDEX idx_webhook_deliveries_event ON webhook_deliveries (event_id);
