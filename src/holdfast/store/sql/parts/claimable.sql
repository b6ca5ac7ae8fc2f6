-- What a ready job must meet before it may start: its time has not run out, and no job of the same subject runs.
(deadline IS NULL OR deadline > :now)
AND (ttl_ms IS NULL OR queued_at + ttl_ms > :now)
AND (subject_key IS NULL OR NOT EXISTS (
  SELECT 1 FROM jobs AS busy
  WHERE busy.state = 'RUNNING' AND busy.job_type = jobs.job_type AND busy.subject_key = jobs.subject_key
    AND busy.subject_key IS NOT NULL))
