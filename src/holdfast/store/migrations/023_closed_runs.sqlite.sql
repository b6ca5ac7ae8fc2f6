-- A closed run changes in nothing any more, whatever column; before, only a part of them was guarded.

DROP TRIGGER job_runs_closed_is_final;

-- A closed run is history. Its artifacts may grow at their end, and the place of its log may be told late.
CREATE TRIGGER job_runs_closed_is_final
BEFORE UPDATE ON job_runs
WHEN OLD.status IS NOT NULL AND (
  NEW.id IS NOT OLD.id OR NEW.job_id IS NOT OLD.job_id OR NEW.attempt IS NOT OLD.attempt
  OR NEW.status IS NOT OLD.status OR NEW.session_id IS NOT OLD.session_id OR NEW.worker_id IS NOT OLD.worker_id
  OR NEW.params_snapshot IS NOT OLD.params_snapshot OR NEW.started_at IS NOT OLD.started_at
  OR NEW.finished_at IS NOT OLD.finished_at OR NEW.exit_code IS NOT OLD.exit_code OR NEW.error IS NOT OLD.error
  OR NEW.error_kind IS NOT OLD.error_kind OR NEW.error_code IS NOT OLD.error_code
  OR NEW.traceback IS NOT OLD.traceback OR NEW.trace_id IS NOT OLD.trace_id
  OR NEW.duration_ms IS NOT OLD.duration_ms OR NEW.pid IS NOT OLD.pid
  OR NEW.pid_started_at IS NOT OLD.pid_started_at OR NEW.template_id IS NOT OLD.template_id
  OR NEW.yield_asked_at IS NOT OLD.yield_asked_at
  OR (OLD.log_path IS NOT NULL AND NEW.log_path IS NOT OLD.log_path)
  OR (NEW.artifacts IS NOT OLD.artifacts AND (
    CASE
      WHEN coalesce(OLD.artifacts, '[]') = '[]' THEN NEW.artifacts LIKE '[%]'
      ELSE NEW.artifacts LIKE '%]'
        AND substr(NEW.artifacts, 1, length(OLD.artifacts)) = substr(OLD.artifacts, 1, length(OLD.artifacts) - 1) || ','
    END) IS NOT TRUE))
BEGIN
  SELECT RAISE(ABORT, 'a closed run never changes');
END;
