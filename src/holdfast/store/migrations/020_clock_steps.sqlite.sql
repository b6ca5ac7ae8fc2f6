-- Each time the wall clock was set while somebody ran, and how far the waiting jobs were moved along.

CREATE TABLE clock_steps (
  number        INTEGER PRIMARY KEY AUTOINCREMENT,
  -- By the clock as it is after the step; it cannot have shown anything before `stepped_at` since then.
  noted_at      INTEGER NOT NULL,
  stepped_at    INTEGER NOT NULL,
  step_ms       INTEGER NOT NULL,
  -- Of this step and all before it.
  total_ms      INTEGER NOT NULL,
  -- The newest job there was. Those up to it are moved in the order of queue and number, and have been up to the cursor.
  upto_number   INTEGER NOT NULL,
  cursor_queue  TEXT NOT NULL DEFAULT '',
  cursor_number INTEGER NOT NULL DEFAULT 0,
  moved         INTEGER NOT NULL DEFAULT 0,
  ended_at      INTEGER
) STRICT;

CREATE INDEX idx_clock_steps_open ON clock_steps (number) WHERE ended_at IS NULL;
