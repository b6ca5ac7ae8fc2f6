INSERT INTO subjects (job_type, subject_key, generation, updated_at)
VALUES (:job_type, :subject_key, :generation, :now)
ON CONFLICT (job_type, subject_key) DO UPDATE SET generation = EXCLUDED.generation, updated_at = EXCLUDED.updated_at
