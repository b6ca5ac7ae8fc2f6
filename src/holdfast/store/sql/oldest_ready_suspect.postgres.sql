SELECT queued_at FROM jobs
WHERE state = 'QUEUED' AND is_suspect = 1 AND queue IN (SELECT json_array_elements_text(CAST(:queues AS json)))
  AND job_type IN (SELECT json_array_elements_text(CAST(:tasks AS json)))
ORDER BY queued_at LIMIT 1
