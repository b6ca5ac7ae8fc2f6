-- Machines are known by an id that each keeps in its home; jobs can be tied to one, and files be asked of it.

CREATE TABLE nodes (
  -- What jobs say they are tied to; never given to another one.
  number  @number,
  -- Before machines had ids, the name was all that was known of one: there it stands for the id until the machine is back.
  id      @key NOT NULL UNIQUE,
  name    @key NOT NULL UNIQUE,
  -- When a session of it last began.
  seen_at @integer NOT NULL
) @strict;

INSERT INTO nodes (id, name, seen_at)
SELECT node, node, max(seen_at) FROM (
  SELECT node, last_heartbeat_at AS seen_at FROM sessions
  UNION ALL SELECT node, updated_at FROM machines
  UNION ALL SELECT node, set_at FROM node_tokens
  UNION ALL SELECT node, created_at FROM watches) AS known
GROUP BY node ORDER BY node;

-- The name that its machine gives itself: processes are known by their numbers only where that is the same.
ALTER TABLE sessions ADD COLUMN host @key NOT NULL DEFAULT '';
UPDATE sessions SET host = node;

DROP INDEX idx_jobs_pop;
DROP INDEX idx_jobs_commands;
DROP INDEX idx_jobs_gated;
DROP INDEX idx_jobs_holding_tokens;
ALTER TABLE jobs DROP COLUMN lane;
-- The number of the machine that alone may run it; 0: any.
ALTER TABLE jobs ADD COLUMN node @integer NOT NULL DEFAULT 0 CHECK (node >= 0);
-- Bits: 1 waits for an idle machine, 2 for a charging one, 4, 8 and 16 for tokens of cpu, gpu and io; from 32 on it is the
-- machine that it is tied to. A claim walks past no job of a lane that is closed.
ALTER TABLE jobs ADD COLUMN lane @integer GENERATED ALWAYS AS (wait_for_idle + 2 * require_charging
  + CASE WHEN cpu > 0 THEN 4 ELSE 0 END + CASE WHEN gpu > 0 THEN 8 ELSE 0 END + CASE WHEN io > 0 THEN 16 ELSE 0 END
  + 32 * node) @computed;

CREATE INDEX idx_jobs_pop ON jobs (queue, lane, tenant, priority DESC, position, created_at, id)
  WHERE state = 'QUEUED';
CREATE INDEX idx_jobs_commands ON jobs (queue, lane, tenant, priority DESC, position, created_at, id)
  WHERE state = 'QUEUED' AND job_type = 'command';
CREATE INDEX idx_jobs_gated ON jobs (queue, lane) WHERE state = 'QUEUED' AND (lane & 31) > 0;
CREATE INDEX idx_jobs_tied ON jobs (state, lane, number) WHERE node > 0 AND state IN ('SCHEDULED', 'QUEUED');
CREATE INDEX idx_jobs_holding_tokens ON jobs (session_id, started_at, cpu, gpu, io)
  WHERE state = 'RUNNING' AND (lane & 31) > 3;

-- Somebody asks the machine that has them for bytes of a run's log or of an artifact; removed once they are read, or after a
-- minute.
CREATE @unlogged TABLE file_requests (
  id          @key PRIMARY KEY,
  node        @key NOT NULL,
  run_id      @key NOT NULL,
  what        @key NOT NULL CHECK (what IN ('log', 'tail', 'artifact', 'artifacts')),
  name        @key,
  -- The offset of the first byte; of a tail, how many lines.
  start       @integer NOT NULL CHECK (start >= 0),
  most        @integer NOT NULL CHECK (most BETWEEN 0 AND 262144),
  is_answered @integer NOT NULL DEFAULT 0 CHECK (is_answered IN (0, 1)),
  -- The answer: where its bytes begin, and where the whole ends by now; or why there is none.
  begins      @integer,
  ends        @integer,
  data        @bytes CHECK (length(data) <= 262144),
  problem     @key,
  CHECK ((what = 'artifact') = (name IS NOT NULL)),
  CHECK (is_answered = 0 OR data IS NOT NULL OR problem IS NOT NULL)
) @strict;
