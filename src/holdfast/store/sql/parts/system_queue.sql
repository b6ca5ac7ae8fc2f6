-- The queue is one of the system's own: `is_system_queue` in SQL.
(queue = 'holdfast' OR substr(queue, 1, 9) = 'holdfast.')
