-- Groups are found by their names and know at once whether anybody in them still goes on; reservations stand in line.

CREATE INDEX idx_groups_name ON job_groups (name, id) WHERE name IS NOT NULL;
CREATE INDEX idx_jobs_group_live ON jobs (group_id) WHERE group_id IS NOT NULL AND finished_at IS NULL;

CREATE TABLE reservations_in_line (
  id          TEXT PRIMARY KEY,
  scope       TEXT NOT NULL,
  reserved_by TEXT NOT NULL,
  session_id  TEXT NOT NULL REFERENCES sessions (id),
  status      TEXT NOT NULL CHECK (status IN ('WAITING', 'ACTIVE', 'RELEASED', 'EXPIRED')),
  ttl_ms      INTEGER NOT NULL CHECK (ttl_ms > 0),
  reserved_at INTEGER NOT NULL,
  granted_at  INTEGER,
  expires_at  INTEGER NOT NULL,
  ended_at    INTEGER,
  CHECK ((status IN ('WAITING', 'ACTIVE')) = (ended_at IS NULL))
) STRICT;
INSERT INTO reservations_in_line
SELECT id, scope, reserved_by, session_id, status, ttl_ms, reserved_at, granted_at, expires_at, ended_at
FROM direct_reservations;
DROP TABLE direct_reservations;
ALTER TABLE reservations_in_line RENAME TO direct_reservations;

CREATE UNIQUE INDEX idx_reservations_active ON direct_reservations (scope) WHERE status = 'ACTIVE';
CREATE INDEX idx_reservations_waiting ON direct_reservations (reserved_at, id) WHERE status = 'WAITING';
CREATE INDEX idx_reservations_session ON direct_reservations (session_id);

-- '*' is everything, and everything excludes each queue.
CREATE TRIGGER reservations_exclude_each_other
BEFORE INSERT ON direct_reservations
WHEN NEW.status = 'ACTIVE' AND EXISTS (
  SELECT 1 FROM direct_reservations
  WHERE status = 'ACTIVE' AND (scope = NEW.scope OR scope = '*' OR NEW.scope = '*'))
BEGIN
  SELECT RAISE(ABORT, 'the scope is reserved');
END;

CREATE TRIGGER reservations_leave_the_line_one_by_one
BEFORE UPDATE OF status ON direct_reservations
WHEN NEW.status = 'ACTIVE' AND OLD.status <> 'ACTIVE' AND EXISTS (
  SELECT 1 FROM direct_reservations
  WHERE status = 'ACTIVE' AND (scope = NEW.scope OR scope = '*' OR NEW.scope = '*'))
BEGIN
  SELECT RAISE(ABORT, 'the scope is reserved');
END;
