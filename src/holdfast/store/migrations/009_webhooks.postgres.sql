-- Webhooks: who is told about events over HTTP, and what was sent. Each delivery is a job; how it went is the job's.

CREATE TABLE webhooks (
  id              TEXT COLLATE "C" PRIMARY KEY,
  name            TEXT COLLATE "C" NOT NULL UNIQUE,
  url             TEXT COLLATE "C" NOT NULL,
  secret          TEXT COLLATE "C" NOT NULL,
  -- The secret before, which signs beside the new one until that moment.
  previous_secret TEXT COLLATE "C",
  previous_until  BIGINT,
  patterns        TEXT COLLATE "C" NOT NULL,
  is_enabled      BIGINT NOT NULL DEFAULT 1 CHECK (is_enabled IN (0, 1)),
  disabled_reason TEXT COLLATE "C",
  timeout_ms      BIGINT CHECK (timeout_ms > 0),
  created_at      BIGINT NOT NULL,
  updated_at      BIGINT NOT NULL,
  CHECK (is_enabled = 0 OR disabled_reason IS NULL),
  CHECK ((previous_secret IS NULL) = (previous_until IS NULL))
);

CREATE TABLE webhook_deliveries (
  id         TEXT COLLATE "C" PRIMARY KEY,
  webhook_id TEXT COLLATE "C" NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  event_id   TEXT COLLATE "C" NOT NULL,
  event_name TEXT COLLATE "C" NOT NULL,
  job_id     TEXT COLLATE "C" NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  created_at BIGINT NOT NULL
);

CREATE INDEX idx_webhook_deliveries_newest ON webhook_deliveries (webhook_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX idx_webhook_deliveries_job ON webhook_deliveries (job_id);
CREATE INDEX idx_webhook_deliveries_event ON webhook_deliveries (event_id);
