INSERT INTO job_conditions (job_id, key, value, satisfied_at) VALUES (:job_id, :key, :value, :satisfied_at)
