SELECT id, name, mode, on_failure, created_at, reopened_at FROM job_groups WHERE id = :id
