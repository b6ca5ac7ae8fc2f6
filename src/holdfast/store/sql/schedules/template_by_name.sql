SELECT * FROM job_templates WHERE name = :name AND archived_at IS NULL
