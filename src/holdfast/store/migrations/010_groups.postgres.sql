-- Groups are found by their names and know at once whether anybody in them still goes on; reservations stand in line.

CREATE INDEX idx_groups_name ON job_groups (name, id) WHERE name IS NOT NULL;
CREATE INDEX idx_jobs_group_live ON jobs (group_id) WHERE group_id IS NOT NULL AND finished_at IS NULL;

ALTER TABLE direct_reservations
  DROP CONSTRAINT direct_reservations_status_check,
  DROP CONSTRAINT direct_reservations_check,
  ADD CONSTRAINT direct_reservations_status_check CHECK (status IN ('WAITING', 'ACTIVE', 'RELEASED', 'EXPIRED')),
  ADD CONSTRAINT direct_reservations_check CHECK ((status IN ('WAITING', 'ACTIVE')) = (ended_at IS NULL));

CREATE INDEX idx_reservations_waiting ON direct_reservations (reserved_at, id) WHERE status = 'WAITING';
CREATE INDEX idx_reservations_session ON direct_reservations (session_id);

CREATE TRIGGER reservations_leave_the_line_one_by_one
BEFORE UPDATE OF status ON direct_reservations FOR EACH ROW
WHEN (NEW.status = 'ACTIVE' AND OLD.status <> 'ACTIVE')
EXECUTE FUNCTION reservations_exclude_each_other();
