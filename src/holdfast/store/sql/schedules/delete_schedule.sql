DELETE FROM schedules WHERE id = :id
