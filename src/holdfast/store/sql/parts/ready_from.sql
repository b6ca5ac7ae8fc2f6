-- When the last of its time, its event and its dependencies came true.
(SELECT max(moment) FROM (
  SELECT jobs.created_at AS moment UNION ALL SELECT jobs.scheduled_at
  UNION ALL SELECT c.satisfied_at FROM job_conditions c WHERE c.job_id = jobs.id) AS moments)
