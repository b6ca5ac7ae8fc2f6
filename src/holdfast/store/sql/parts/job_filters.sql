-- The filters of every list of jobs and of every bulk action; each may be left open.
(CAST(:state AS TEXT) IS NULL OR state = :state)
AND @part(option_filters)
AND (CAST(:without_system AS BIGINT) = 0 OR NOT @part(system_queue))
AND (CAST(:task AS TEXT) IS NULL OR job_type = :task)
AND (CAST(:subject_from AS TEXT) IS NULL OR (subject_key >= :subject_from AND subject_key < :subject_to))
AND (CAST(:created_after AS BIGINT) IS NULL OR created_at > :created_after)
AND (CAST(:error_text AS TEXT) IS NULL OR lower(reason) LIKE :error_text ESCAPE '\' OR lower(error_code) LIKE :error_text ESCAPE '\')
