SELECT * FROM job_templates WHERE id = :id
