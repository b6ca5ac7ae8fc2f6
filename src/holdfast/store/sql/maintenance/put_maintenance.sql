INSERT INTO maintenance (task, due_at, job_id) VALUES (:task, :due_at, :job_id)
ON CONFLICT (task) DO UPDATE SET due_at = EXCLUDED.due_at, job_id = coalesce(EXCLUDED.job_id, maintenance.job_id)
