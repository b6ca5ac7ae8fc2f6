-- The job that stands for a generation; one that a member of a group was retried as only if no other has it.
SELECT id, state, generation, number, queue FROM jobs
WHERE job_type = :job_type AND subject_key = :subject_key AND generation = :generation
  AND (retry_of IS NULL OR retried_from IS NOT NULL)
ORDER BY retry_of IS NULL DESC, number DESC LIMIT 1
