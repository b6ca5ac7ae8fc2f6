-- Apps: classes with handlers of events, each called in one process at a time. Sessions have numbers.

CREATE TABLE apps (
  app_key         TEXT COLLATE "C" NOT NULL,
  instance_index  BIGINT NOT NULL DEFAULT 0 CHECK (instance_index >= 0),
  class           TEXT COLLATE "C" NOT NULL,
  wanted          TEXT COLLATE "C" NOT NULL DEFAULT 'running' CHECK (wanted IN ('running', 'stopped')),
  status          TEXT COLLATE "C" NOT NULL CHECK (status IN ('waiting', 'starting', 'running', 'failed', 'stopped')),
  -- The session that calls its handlers, its owner.
  session_id      TEXT COLLATE "C",
  -- When its owner took it.
  started_at      BIGINT,
  error_type      TEXT COLLATE "C",
  error_message   TEXT COLLATE "C",
  error_traceback TEXT COLLATE "C",
  PRIMARY KEY (app_key, instance_index),
  CHECK ((status IN ('waiting', 'stopped')) = (session_id IS NULL))
);

CREATE INDEX idx_apps_session ON apps (session_id) WHERE session_id IS NOT NULL;

-- In the order in which they were opened. What a session makes by itself is numbered by it.
ALTER TABLE sessions ADD COLUMN number BIGINT;

UPDATE sessions SET number = ranked.number
FROM (SELECT id, row_number() OVER (ORDER BY started_at, id) AS number FROM sessions) AS ranked
WHERE ranked.id = sessions.id;

CREATE UNIQUE INDEX idx_sessions_number ON sessions (number);
