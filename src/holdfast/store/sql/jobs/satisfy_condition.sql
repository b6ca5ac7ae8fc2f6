UPDATE job_conditions SET satisfied_at = :now WHERE job_id = :job_id AND key = :key AND satisfied_at IS NULL
