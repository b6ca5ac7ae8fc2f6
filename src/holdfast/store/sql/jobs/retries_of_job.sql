SELECT id, number, state FROM jobs WHERE retried_from = :job_id AND retried_from IS NOT NULL ORDER BY number
