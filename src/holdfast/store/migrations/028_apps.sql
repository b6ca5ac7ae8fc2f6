-- Apps: classes with handlers of events, each called in one process at a time. Sessions have numbers.

CREATE TABLE apps (
  app_key         @key NOT NULL,
  instance_index  @integer NOT NULL DEFAULT 0 CHECK (instance_index >= 0),
  class           @key NOT NULL,
  wanted          @key NOT NULL DEFAULT 'running' CHECK (wanted IN ('running', 'stopped')),
  status          @key NOT NULL CHECK (status IN ('waiting', 'starting', 'running', 'failed', 'stopped')),
  -- The session that calls its handlers, its owner.
  session_id      @key,
  -- When its owner took it.
  started_at      @integer,
  error_type      @key,
  error_message   @key,
  error_traceback @key,
  PRIMARY KEY (app_key, instance_index),
  CHECK ((status IN ('waiting', 'stopped')) = (session_id IS NULL))
) @strict_by_key;

CREATE INDEX idx_apps_session ON apps (session_id) WHERE session_id IS NOT NULL;

-- In the order in which they were opened. What a session makes by itself is numbered by it.
ALTER TABLE sessions ADD COLUMN number @integer;

UPDATE sessions SET number = ranked.number
FROM (SELECT id, row_number() OVER (ORDER BY started_at, id) AS number FROM sessions) AS ranked
WHERE ranked.id = sessions.id;

CREATE UNIQUE INDEX idx_sessions_number ON sessions (number);
