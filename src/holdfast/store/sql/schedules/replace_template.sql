UPDATE job_templates
SET job_type = :job_type, queue = :queue, payload = :payload, options = :options, updated_at = :now
WHERE id = :id AND archived_at IS NULL
