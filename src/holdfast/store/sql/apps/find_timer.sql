SELECT * FROM scheduled_jobs WHERE id = :id
