UPDATE clock_steps
SET cursor_queue = :queue, cursor_number = :cursor, moved = moved + :moved, ended_at = :ended_at WHERE number = :number
