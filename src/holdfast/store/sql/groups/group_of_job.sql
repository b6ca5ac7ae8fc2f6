SELECT group_id FROM jobs WHERE id = :id
