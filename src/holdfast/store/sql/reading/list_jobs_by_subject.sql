-- The same for the subjects that begin with a prefix, by their index.
SELECT number FROM jobs
WHERE subject_key IS NOT NULL AND subject_key >= :subject_from AND subject_key < :subject_to AND number < :below
  AND @part(job_filters)
ORDER BY number DESC LIMIT :limit
