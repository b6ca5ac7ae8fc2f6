-- A closed run changes in nothing any more, whatever column; before, only a part of them was guarded.

DROP TRIGGER job_runs_closed_is_final ON job_runs;

-- A closed run is history. Its artifacts may grow at their end, and the place of its log may be told late.
CREATE TRIGGER job_runs_closed_is_final
BEFORE UPDATE ON job_runs FOR EACH ROW
WHEN (OLD.status IS NOT NULL AND (
  to_jsonb(NEW) - 'artifacts' - 'log_path' <> to_jsonb(OLD) - 'artifacts' - 'log_path'
  OR (OLD.log_path IS NOT NULL AND NEW.log_path IS DISTINCT FROM OLD.log_path)
  OR (NEW.artifacts IS DISTINCT FROM OLD.artifacts AND (
    CASE
      WHEN coalesce(OLD.artifacts, '[]') = '[]' THEN NEW.artifacts LIKE '[%]'
      ELSE NEW.artifacts LIKE '%]'
        AND left(NEW.artifacts, length(OLD.artifacts)) = left(OLD.artifacts, -1) || ','
    END) IS NOT TRUE)))
EXECUTE FUNCTION job_runs_closed_is_final();
