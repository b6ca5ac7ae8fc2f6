INSERT INTO job_groups (id, name, mode, on_failure, created_at) VALUES (:id, :name, :mode, :on_failure, :now)
ON CONFLICT (id) DO NOTHING
