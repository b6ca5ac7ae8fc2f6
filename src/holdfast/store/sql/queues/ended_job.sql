SELECT queue, number, job_type AS task FROM jobs WHERE id = :job_id
