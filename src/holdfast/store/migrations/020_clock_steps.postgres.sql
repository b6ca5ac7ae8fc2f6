-- Each time the wall clock was set while somebody ran, and how far the waiting jobs were moved along.

CREATE TABLE clock_steps (
  number        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- By the clock as it is after the step; it cannot have shown anything before `stepped_at` since then.
  noted_at      BIGINT NOT NULL,
  stepped_at    BIGINT NOT NULL,
  step_ms       BIGINT NOT NULL,
  -- Of this step and all before it.
  total_ms      BIGINT NOT NULL,
  -- The newest job there was. Those up to it are moved in the order of queue and number, and have been up to the cursor.
  upto_number   BIGINT NOT NULL,
  cursor_queue  TEXT COLLATE "C" NOT NULL DEFAULT '',
  cursor_number BIGINT NOT NULL DEFAULT 0,
  moved         BIGINT NOT NULL DEFAULT 0,
  ended_at      BIGINT
);

CREATE INDEX idx_clock_steps_open ON clock_steps (number) WHERE ended_at IS NULL;
