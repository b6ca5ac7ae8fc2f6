-- Tokens: what each machine has of cores, graphics cards and heavy input and output, and what jobs take of it.

DROP INDEX idx_jobs_pop;
DROP INDEX idx_jobs_commands;
DROP INDEX idx_jobs_gated;
ALTER TABLE jobs DROP COLUMN lane;
ALTER TABLE jobs DROP COLUMN resources;
ALTER TABLE jobs ADD COLUMN cpu INTEGER NOT NULL DEFAULT 0 CHECK (cpu >= 0);
ALTER TABLE jobs ADD COLUMN gpu INTEGER NOT NULL DEFAULT 0 CHECK (gpu >= 0);
ALTER TABLE jobs ADD COLUMN io INTEGER NOT NULL DEFAULT 0 CHECK (io >= 0);
-- Since when others have passed it because it did not fit; and whether its priority has grown for that.
ALTER TABLE jobs ADD COLUMN tokens_since INTEGER;
ALTER TABLE jobs ADD COLUMN has_aged INTEGER NOT NULL DEFAULT 0 CHECK (has_aged IN (0, 1));
-- Bits: 1 waits for an idle machine, 2 for a charging one, 4, 8 and 16 for tokens of cpu, gpu and io; a claim walks past
-- no job of a lane that is closed.
ALTER TABLE jobs ADD COLUMN lane INTEGER GENERATED ALWAYS AS (wait_for_idle + 2 * require_charging
  + CASE WHEN cpu > 0 THEN 4 ELSE 0 END + CASE WHEN gpu > 0 THEN 8 ELSE 0 END + CASE WHEN io > 0 THEN 16 ELSE 0 END) VIRTUAL;

CREATE INDEX idx_jobs_pop ON jobs (queue, lane, tenant, priority DESC, position, created_at, id)
  WHERE state = 'QUEUED';
CREATE INDEX idx_jobs_commands ON jobs (queue, lane, tenant, priority DESC, position, created_at, id)
  WHERE state = 'QUEUED' AND job_type = 'command';
CREATE INDEX idx_jobs_gated ON jobs (queue, lane) WHERE state = 'QUEUED' AND lane > 0;
CREATE INDEX idx_jobs_holding_tokens ON jobs (session_id, started_at, cpu, gpu, io) WHERE state = 'RUNNING' AND lane > 3;
CREATE INDEX idx_jobs_passed ON jobs (tokens_since, number) WHERE state = 'QUEUED' AND tokens_since IS NOT NULL;

-- Who decided is kept: what a machine has by itself is found out anew, what somebody decided stays.
CREATE TABLE node_tokens (
  node       TEXT PRIMARY KEY,
  cpu        INTEGER NOT NULL CHECK (cpu >= 0),
  gpu        INTEGER NOT NULL CHECK (gpu >= 0),
  io         INTEGER NOT NULL CHECK (io >= 0),
  timeout_ms INTEGER NOT NULL CHECK (timeout_ms >= 0),
  set_by     TEXT NOT NULL CHECK (set_by IN ('default', 'settings', 'hand')),
  -- No run that began before this moment was measured against these numbers.
  set_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
