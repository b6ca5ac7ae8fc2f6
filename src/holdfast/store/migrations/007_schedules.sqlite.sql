-- Schedules at work: who made them, how often they fired, and which ticks were left out and why.

ALTER TABLE schedules ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE schedules ADD COLUMN fires INTEGER NOT NULL DEFAULT 0 CHECK (fires >= 0);
ALTER TABLE schedules ADD COLUMN origin TEXT NOT NULL DEFAULT 'api' CHECK (origin IN ('api', 'code'));
ALTER TABLE schedules ADD COLUMN owner TEXT;

CREATE INDEX idx_schedules_settled ON schedules (last_fire_time) WHERE enabled = 1;
CREATE INDEX idx_schedules_template ON schedules (template_id);

CREATE TABLE schedule_skips (
  schedule_id    TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
  reason         TEXT NOT NULL,
  ticks          INTEGER NOT NULL CHECK (ticks > 0),
  last_fire_time INTEGER NOT NULL,
  PRIMARY KEY (schedule_id, reason)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_jobs_open_of_schedule ON jobs (schedule_id, number)
  WHERE schedule_id IS NOT NULL AND finished_at IS NULL;
