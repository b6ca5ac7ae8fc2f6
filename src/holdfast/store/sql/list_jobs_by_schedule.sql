-- The same for one schedule.
SELECT number FROM jobs
WHERE schedule_id = :schedule_id AND schedule_id IS NOT NULL AND number < :below
  AND (CAST(:state AS TEXT) IS NULL OR state = :state)
  AND (CAST(:queue AS TEXT) IS NULL OR queue = :queue)
  AND (CAST(:without_system AS BIGINT) = 0 OR NOT (queue = 'holdfast' OR substr(queue, 1, 9) = 'holdfast.'))
  AND (CAST(:task AS TEXT) IS NULL OR job_type = :task)
  AND (CAST(:tag AS TEXT) IS NULL OR user_tag = :tag)
  AND (CAST(:tenant AS TEXT) IS NULL OR tenant = :tenant)
  AND (CAST(:group_id AS TEXT) IS NULL OR group_id = :group_id)
  AND (CAST(:subject_from AS TEXT) IS NULL OR (subject_key >= :subject_from AND subject_key < :subject_to))
  AND (CAST(:created_after AS BIGINT) IS NULL OR created_at > :created_after)
  AND (CAST(:error_text AS TEXT) IS NULL OR lower(reason) LIKE :error_text ESCAPE '\' OR lower(error_code) LIKE :error_text ESCAPE '\')
ORDER BY number DESC LIMIT :limit
