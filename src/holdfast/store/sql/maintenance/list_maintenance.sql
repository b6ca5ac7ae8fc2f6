SELECT task, due_at, job_id FROM maintenance ORDER BY task
