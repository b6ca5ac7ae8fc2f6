INSERT INTO job_templates (id, name, job_type, queue, payload, options, created_at, updated_at)
VALUES (:id, :name, :job_type, :queue, :payload, :options, :now, :now)
