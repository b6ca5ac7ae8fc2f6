UPDATE jobs SET checkpoint = :data WHERE id = :job_id AND run_id = :run_id AND state = 'RUNNING'
  AND EXISTS (
    SELECT 1 FROM sessions AS s WHERE s.id = jobs.session_id AND s.secret_hash IS NOT DISTINCT FROM :secret_hash)
