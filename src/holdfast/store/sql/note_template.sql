UPDATE jobs SET template_id = :template_id WHERE id = :id
