INSERT INTO subjects (job_type, subject_key, generation, updated_at)
VALUES (:job_type, :subject_key, :generation, :now)
@upsert(job_type, subject_key: generation, updated_at)
