-- Breakers: a queue whose runs fail one after the other because of the machine stops for a while; then one job tries.

-- After so many infra failures in a row, for so long; 0 failures: never.
ALTER TABLE queues ADD COLUMN breaker BIGINT NOT NULL DEFAULT 5 CHECK (breaker >= 0);
ALTER TABLE queues ADD COLUMN breaker_for_ms BIGINT NOT NULL DEFAULT 30000 CHECK (breaker_for_ms >= 1);

-- A queue has a row from its first infra failure until a run ends in another way.
CREATE TABLE queue_breakers (
  queue         TEXT COLLATE "C" PRIMARY KEY,
  failures      BIGINT NOT NULL CHECK (failures >= 1),
  failed_at     BIGINT NOT NULL,
  reason        TEXT COLLATE "C" NOT NULL,
  opened_at     BIGINT,
  half_opens_at BIGINT CHECK ((half_opens_at IS NULL) = (opened_at IS NULL)),
  -- Everybody was told that one job may try.
  is_half_open  BIGINT NOT NULL DEFAULT 0 CHECK (is_half_open IN (0, 1) AND (is_half_open = 0 OR opened_at IS NOT NULL)),
  -- The job that tries, or tried last.
  probe         TEXT COLLATE "C" CHECK (probe IS NULL OR is_half_open = 1)
);

CREATE INDEX idx_queue_breakers_opens ON queue_breakers (half_opens_at) WHERE half_opens_at IS NOT NULL AND is_half_open = 0;
